/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares filling with one value at a time, and checks that verifying finds and names every wrong
 * element. */
#include "driver/values.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

#define SEED 7
#define STEP 3
#define MAX_BYTES (6 * 7 * 8 * 8)
#define GUARD 0x5A

typedef struct {
    io_dim dims[3];
    io_dataset datasets[2];
    io_schema schema;
    io_part part;
    unsigned char data[MAX_BYTES + 1]; /* and one byte that must not be touched */
} box;

/* A random box of data set 1 in an array of 6 x 7 x 8, with its data. */
static void make(box *b, io_type type, int repeated) {
    static const uint64_t shape[3] = {6, 7, 8};
    memset(b, 0, sizeof *b);
    for (int i = 0; i < 3; i++) b->dims[i] = (io_dim){"x", shape[i]};
    for (int i = 0; i < 2; i++)
        b->datasets[i] = (io_dataset){
            .name = "d", .type = type, .ndims = 3, .dim = {0, 1, 2},
                       .repeated = repeated
        };
    b->schema = (io_schema){.ndims = 3, .ndatasets = 2, .dims = b->dims, .datasets = b->datasets};
    b->part = (io_part){.dataset = 1, .index0 = unit_random(100), .data = b->data};
    for (int i = 0; i < 3; i++) {
        b->part.count[i] = 1 + unit_random(shape[i]);
        b->part.start[i] = unit_random(shape[i] - b->part.count[i] + 1);
    }
    memset(b->data, GUARD, sizeof b->data);
}

/* The global index of an element of the part, from its index in it. */
static uint64_t global_of(const box *b, uint64_t local) {
    const io_part *p = &b->part;
    uint64_t k = local % p->count[2], j = local / p->count[2] % p->count[1],
             i = local / (p->count[1] * p->count[2]);
    return ((p->start[0] + i) * 7 + p->start[1] + j) * 8 + p->start[2] + k;
}

static uint64_t bits_at(const box *b, io_type type, uint64_t local) {
    const unsigned char *at = b->data + local * io_type_size(type);
    if (io_type_size(type) == 1) return *at;
    if (io_type_size(type) == 2) {
        uint16_t word;
        memcpy(&word, at, 2);
        return word;
    }
    if (io_type_size(type) == 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        return word;
    }
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static void test_fill(io_type type, int repeated) {
    static box b;
    uint64_t key = io_value_key(SEED, 1, STEP);
    make(&b, type, repeated);
    io_fill(&b.schema, &b.part, SEED, STEP);
    uint64_t n = io_part_elements(&b.schema, &b.part);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t expected = io_value(key, type, b.datasets[1].repeated, b.part.index0 + global_of(&b, i)),
                 found = bits_at(&b, type, i);
        CHECK(found == expected, "%s element %" PRIu64 ": %" PRIx64 ", not %" PRIx64, io_type_name(type), i,
              found, expected);
    }
    CHECK(b.data[n * io_type_size(type)] == GUARD, "%s: wrote past the part", io_type_name(type));
}

/* One wrong bit, then a second one after it: the first is reported. */
static void test_verify(io_type type, int repeated) {
    static box b;
    make(&b, type, repeated);
    io_fill(&b.schema, &b.part, SEED, STEP);
    uint64_t n = io_part_elements(&b.schema, &b.part), size = io_type_size(type);
    const char *name = io_type_name(type);
    io_check check = {0};
    io_verify(&b.schema, &b.part, SEED, STEP, &check);
    CHECK(!check.wrong && check.elements == n && check.bytes == n * size, "%s: clean data", name);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t expected = bits_at(&b, type, i), byte = i * size + unit_random(size);
        unsigned char bit = (unsigned char)(1u << unit_random(8));
        b.data[byte] ^= bit;
        if (i + 1 < n) b.data[n * size - 1] ^= 1;
        check = (io_check){0};
        io_verify(&b.schema, &b.part, SEED, STEP, &check);
        CHECK(check.wrong == (i + 1 < n ? 2 : 1), "%s element %" PRIu64 ": %" PRIu64 " wrong", name, i,
              check.wrong);
        CHECK(check.dataset == 1 && check.local == i && check.index == global_of(&b, i),
              "%s element %" PRIu64 ": named as %" PRIu64 ", index %" PRIu64, name, i, check.local,
              check.index);
        CHECK(check.expected == expected && check.found == bits_at(&b, type, i),
              "%s element %" PRIu64 ": expected %" PRIx64 ", found %" PRIx64, name, i, check.expected,
              check.found);
        CHECK(check.elements == n, "%s: counts what it looked at", name);
        b.data[byte] ^= bit;
        if (i + 1 < n) b.data[n * size - 1] ^= 1;
    }
}

/* Other seeds, data sets, steps and positions have other values, or verifying would prove nothing. */
static void test_distinct(void) {
    uint64_t keys[1000];
    int n = 0;
    for (uint64_t seed = 1; seed <= 10; seed++)
        for (int dataset = 0; dataset < 10; dataset++)
            for (uint64_t step = 0; step < 10; step++) keys[n++] = io_value_key(seed, dataset, step);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) CHECK(keys[i] != keys[j], "keys %d and %d", i, j);
    uint64_t same = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t bits = io_value(keys[0], IO_FLOAT64, 0, i);
        double d;
        float f;
        uint32_t low = (uint32_t)io_value(keys[0], IO_FLOAT32, 0, i);
        memcpy(&d, &bits, 8);
        memcpy(&f, &low, 4);
        CHECK(d >= 1 && d < 2, "float64 %" PRIu64 " is %g", i, d);
        CHECK(f >= 1 && f < 2, "float32 %" PRIu64 " is %g", i, (double)f);
        CHECK(io_value(keys[0], IO_INT32, 0, i) <= INT32_MAX, "int32 %" PRIu64, i);
        CHECK(io_value(keys[0], IO_INT64, 0, i) <= INT64_MAX, "int64 %" PRIu64, i);
        CHECK(io_value(keys[0], IO_INT16, 0, i) <= INT16_MAX, "int16 %" PRIu64, i);
        uint64_t letter = io_value(keys[0], IO_CHAR, 0, i);
        CHECK(letter >= '0' && letter <= 'o', "character %" PRIu64, letter);
        CHECK(bits != io_value(keys[1], IO_FLOAT64, 0, i), "two steps agree at %" PRIu64, i);
        CHECK(bits != io_value(keys[0], IO_FLOAT64, 0, i + 1), "neighbours agree at %" PRIu64, i);
        same += io_value(keys[0], IO_BYTE, 0, i) == io_value(keys[1], IO_BYTE, 0, i);
    }
    CHECK(same < 10000 / 64, "bytes of two steps agree %" PRIu64 " times of 10000", same);
}

/* A quarter of each group's words repeat one, which no other group has; no other word does. */
static void test_repeated(void) {
    for (uint64_t i = 0; i < 1280; i++) {
        uint64_t value = io_value(7, IO_UINT64, 32, i), last = io_value(7, IO_UINT64, 32, i | 127);
        CHECK((value == last) == (i % 128 >= 96), "word %" PRIu64 " of a data set with repeats", i);
        CHECK(i % 128 >= 96 || value == io_value(7, IO_UINT64, 0, i), "distinct word %" PRIu64, i);
        CHECK(i < 128 || last != io_value(7, IO_UINT64, 32, (i - 128) | 127), "groups agree at %" PRIu64, i);
    }
}

void unit_values(void) {
    for (int type = 0; type < IO_TYPES; type++)
        for (int i = 0; i < 300; i++) {
            test_fill((io_type)type, i % 4 ? 0 : i % 129);
            test_verify((io_type)type, i % 4 ? 0 : i % 129);
        }
    test_distinct();
    test_repeated();
}
