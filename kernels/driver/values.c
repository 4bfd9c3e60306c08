/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and checks values; each loop is simple enough for the compiler to vectorise or pipeline, so
 * that filling and checking run at memory speed. */
#include "driver/values.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (7 - (i)))))
#define WORD_HALF(word, i) ((uint32_t)((word) >> (32 * (1 - (i)))))
#else
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (i))))
#define WORD_HALF(word, i) ((uint32_t)((word) >> (32 * (i))))
#endif

/* The widest vector instructions that the machine has: the program chooses when it starts, and runs
 * everywhere. A sanitizer is not ready for such a choice. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 &&                    \
    !defined(__SANITIZE_ADDRESS__)
#define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST
#endif

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014), with one multiplication left out: for keys. */
#define STEP 0x9E3779B97F4A7C15u
static inline uint64_t mix(uint64_t x) {
    x *= STEP;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ (x >> 29);
}

/* Folds a multiple of STEP to the word of that number: different ones stay different, as each line can be
 * undone. No product, which AVX2 lacks for 64 bits; in a loop the next multiple is an addition. That
 * neighbours are correlated does no harm: values must tell places apart, and no file system be able to
 * compress them. */
static inline uint64_t fold(uint64_t x) {
    x ^= x >> 32;
    return x + (x << 21);
}
static inline uint64_t word_of(uint64_t number) { return fold(number * STEP); }

uint64_t io_value_key(uint64_t seed, int dataset, uint64_t step) {
    return mix(mix(seed + 1) + mix((uint64_t)dataset + 1) * 3 + step * 0xA24BAED4963EE407u);
}

/* A word holds one value of 8 bytes, two of 4 or eight bytes; these make values of it. Floats lie in [1, 2):
 * every bit pattern is a number, and no library changes it on its way. Integers are not negative. */
static inline uint64_t as_float64(uint64_t word) { return (word >> 12) | 0x3FF0000000000000u; }
static inline uint64_t as_float32(uint64_t word) {
    return (word >> 9 & 0x007FFFFF007FFFFFu) | 0x3F8000003F800000u;
}
static inline uint64_t as_int64(uint64_t word) { return word >> 1; }
static inline uint64_t as_int32(uint64_t word) { return word & 0x7FFFFFFF7FFFFFFFu; }
static inline uint64_t as_bytes(uint64_t word) { return word; }

uint64_t io_value(uint64_t key, io_type type, uint64_t index) {
    switch (type) {
    case IO_BYTE: return WORD_BYTE(as_bytes(word_of(key + index / 8)), index % 8);
    case IO_INT32: return WORD_HALF(as_int32(word_of(key + index / 2)), index % 2);
    case IO_INT64: return as_int64(word_of(key + index));
    case IO_FLOAT32: return WORD_HALF(as_float32(word_of(key + index / 2)), index % 2);
    default: return as_float64(word_of(key + index));
    }
}

/* Words as they may stand in a buffer: a part can begin in the middle of one. */
typedef uint64_t any64 __attribute__((aligned(1), may_alias));

/* `words` whole words from number `first` on. */
#define FILL(as)                                                                                             \
    do {                                                                                                     \
        any64 *restrict out = data;                                                                          \
        uint64_t x = (key + first) * STEP;                                                                   \
        for (uint64_t i = 0; i < words; i++, x += STEP) out[i] = as(fold(x));                                \
    } while (0)

WIDEST static void fill_words(void *data, io_type type, uint64_t key, uint64_t first, uint64_t words) {
    switch (type) {
    case IO_BYTE: FILL(as_bytes); break;
    case IO_INT32: FILL(as_int32); break;
    case IO_FLOAT32: FILL(as_float32); break;
    case IO_INT64: FILL(as_int64); break;
    default: FILL(as_float64); break;
    }
}

/* Is anything of them wrong? A sum of differences, so that the loop has no branch. */
#define DIFFER(as)                                                                                           \
    do {                                                                                                     \
        const any64 *in = data;                                                                              \
        uint64_t sum = 0, x = (key + first) * STEP;                                                          \
        for (uint64_t i = 0; i < words; i++, x += STEP) sum |= in[i] ^ as(fold(x));                          \
        return sum != 0;                                                                                     \
    } while (0)

WIDEST static bool words_differ(const void *data, io_type type, uint64_t key, uint64_t first,
                                uint64_t words) {
    switch (type) {
    case IO_BYTE: DIFFER(as_bytes);
    case IO_INT32: DIFFER(as_int32);
    case IO_FLOAT32: DIFFER(as_float32);
    case IO_INT64: DIFFER(as_int64);
    default: DIFFER(as_float64);
    }
}

/* A run of elements is single ones up to a whole word, words, and single ones. */
typedef struct {
    uint64_t each, before, words, after; /* elements of a word; elements, words, elements */
} cut;

static cut cut_run(io_type type, uint64_t index, uint64_t n) {
    cut c = {.each = 8 / io_type_size(type)};
    c.before = (c.each - index % c.each) % c.each;
    if (c.before > n) c.before = n;
    c.words = (n - c.before) / c.each;
    c.after = n - c.before - c.words * c.each;
    return c;
}

static void fill_some(char *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    uint64_t size = io_type_size(type);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = io_value(key, type, index + i);
        uint8_t byte = (uint8_t)bits;
        uint32_t half = (uint32_t)bits;
        memcpy(data + i * size, size == 1 ? (void *)&byte : (void *)&half, size);
    }
}

static void fill_run(void *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    cut c = cut_run(type, index, n);
    char *words = (char *)data + c.before * io_type_size(type);
    fill_some(data, type, key, index, c.before);
    fill_words(words, type, key, (index + c.before) / c.each, c.words);
    fill_some(words + 8 * c.words, type, key, index + n - c.after, c.after);
}

void io_fill(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step) {
    io_type type = schema->datasets[part->dataset].type;
    uint64_t key = io_value_key(seed, part->dataset, step), size = io_type_size(type);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);)
        fill_run((char *)part->data + r.local * size, type, key, part->index0 + r.global, r.length);
}

static uint64_t bits_at(const char *data, uint64_t size) {
    uint64_t bits = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&bits, data, size);
#else
    memcpy((char *)&bits + 8 - size, data, size);
#endif
    return bits;
}

static bool some_differ(const char *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    uint64_t size = io_type_size(type);
    for (uint64_t i = 0; i < n; i++)
        if (bits_at(data + i * size, size) != io_value(key, type, index + i)) return true;
    return false;
}

static bool run_differs(const void *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    cut c = cut_run(type, index, n);
    const char *words = (const char *)data + c.before * io_type_size(type);
    return some_differ(data, type, key, index, c.before) ||
           words_differ(words, type, key, (index + c.before) / c.each, c.words) ||
           some_differ(words + 8 * c.words, type, key, index + n - c.after, c.after);
}

/* Slow, for runs that are known to be wrong: counts, and keeps the first. */
static void count_wrong(const io_part *part, const io_runs *r, io_type type, uint64_t key, const char *facts,
                        io_check *check) {
    uint64_t size = io_type_size(type);
    const char *data = (const char *)part->data + r->local * size;
    for (uint64_t i = 0; i < r->length; i++) {
        uint64_t found = bits_at(data + i * size, size);
        uint64_t expected =
            facts ? bits_at(facts + i * size, size) : io_value(key, type, part->index0 + r->global + i);
        if (found == expected) continue;
        if (!check->wrong++) {
            check->dataset = part->dataset;
            check->index = r->global + i;
            check->local = r->local + i;
            check->part = *part;
            check->expected = expected;
            check->found = found;
        }
    }
}

static void verify(const io_schema *schema, const io_part *part, uint64_t key, const void *facts,
                   io_check *check) {
    io_type type = schema->datasets[part->dataset].type;
    uint64_t size = io_type_size(type);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);) {
        check->elements += r.length;
        check->bytes += r.length * size;
        const char *data = (const char *)part->data + r.local * size;
        const char *right = facts ? (const char *)facts + r.local * size : NULL;
        if (right ? memcmp(data, right, r.length * size) != 0
                  : run_differs(data, type, key, part->index0 + r.global, r.length))
            count_wrong(part, &r, type, key, right, check);
    }
}

void io_verify(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step, io_check *check) {
    verify(schema, part, io_value_key(seed, part->dataset, step), NULL, check);
}

void io_verify_facts(const io_schema *schema, const io_part *part, const void *facts, io_check *check) {
    verify(schema, part, 0, facts, check);
}
