/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares runs of random boxes with a walk over every element; splits; sizes above 4 GiB. */
#include "base/layout.h"
#include "tests/unit.h"

#define MAX_ELEMENTS 3125 /* 5 to the 5 */

typedef struct {
    io_dim dims[IO_MAX_DIMS];
    io_dataset dataset;
    io_schema schema;
} world;

static void make(world *w, int ndims, const uint64_t *shape) {
    *w = (world){
        .dataset = {.name = "d", .type = IO_FLOAT64, .ndims = ndims}
    };
    for (int i = 0; i < ndims; i++) {
        w->dims[i] = (io_dim){"x", shape[i]};
        w->dataset.dim[i] = i;
    }
    w->schema = (io_schema){.ndims = ndims, .ndatasets = 1, .dims = w->dims, .datasets = &w->dataset};
}

/* Every element of a box in C order, by odometer. Returns their number. */
static uint64_t walk(const world *w, const io_part *part, uint64_t *global) {
    uint64_t at[IO_MAX_DIMS] = {0}, n = 0;
    int ndims = w->dataset.ndims;
    for (int i = 0; i < ndims; i++)
        if (!part->count[i]) return 0;
    for (;;) {
        uint64_t index = 0;
        for (int i = 0; i < ndims; i++) index = index * w->dims[i].length + part->start[i] + at[i];
        global[n++] = index;
        int i = ndims - 1;
        while (i >= 0 && ++at[i] == part->count[i]) at[i--] = 0;
        if (i < 0) return n;
    }
}

static void check_runs(const world *w, const io_part *part, int number) {
    static uint64_t global[MAX_ELEMENTS];
    uint64_t n = walk(w, part, global), seen = 0, end = UINT64_MAX;
    CHECK(io_part_elements(&w->schema, part) == n, "box %d: %" PRIu64 " elements", number, n);
    for (io_runs r = io_runs_of(&w->schema, part); io_runs_next(&r);) {
        CHECK(r.length > 0, "box %d", number);
        CHECK(r.local == seen, "box %d: run begins at %" PRIu64 " of the part, not %" PRIu64, number, r.local,
              seen);
        CHECK(r.global != end, "box %d: two runs that touch at %" PRIu64 " are not one", number, end);
        for (uint64_t i = 0; i < r.length && seen < n; i++, seen++)
            CHECK(r.global + i == global[seen], "box %d: element %" PRIu64 " is at %" PRIu64 ", not %" PRIu64,
                  number, seen, r.global + i, global[seen]);
        end = r.global + r.length;
        if (seen >= n) {
            CHECK(r.local + r.length == n, "box %d: runs hold more than the box", number);
            CHECK(!io_runs_next(&r), "box %d: a run too many", number);
            break;
        }
    }
    CHECK(seen == n, "box %d: runs hold %" PRIu64 " of %" PRIu64 " elements", number, seen, n);
}

/* Starts in the middle of a box; checks how much of it precedes any element of the data set. */
static void check_middle(const world *w, const io_part *part, int number) {
    static uint64_t global[MAX_ELEMENTS];
    uint64_t n = walk(w, part, global), before = 0, all = io_dataset_length(&w->schema, 0);
    for (uint64_t k = 0; k <= all; k++) {
        while (before < n && global[before] < k) before++;
        uint64_t found = io_part_before(&w->schema, part, k);
        CHECK(found == before, "box %d: %" PRIu64 " elements before %" PRIu64 ", not %" PRIu64, number, found,
              k, before);
    }
    for (uint64_t local = 0; local < n; local += 1 + unit_random(7)) {
        uint64_t seen = local;
        for (io_runs r = io_runs_from(&w->schema, part, local); io_runs_next(&r);) {
            CHECK(r.local <= seen && seen < r.local + r.length, "box %d: no run that holds %" PRIu64, number,
                  seen);
            CHECK(r.global + (seen - r.local) == global[seen], "box %d: element %" PRIu64, number, seen);
            seen = r.local + r.length;
        }
        CHECK(seen == n, "box %d: runs from %" PRIu64 " end at %" PRIu64, number, local, seen);
    }
    io_runs past = io_runs_from(&w->schema, part, n);
    CHECK(!io_runs_next(&past), "box %d: a run after its end", number);
}

static void test_runs(void) {
    for (int number = 0; number < 20000; number++) {
        int ndims = (int)unit_random(IO_MAX_DIMS + 1);
        uint64_t shape[IO_MAX_DIMS];
        world w;
        io_part part = {0};
        bool may_be_empty = unit_random(10) == 0;
        for (int i = 0; i < ndims; i++) shape[i] = 1 + unit_random(5);
        make(&w, ndims, shape);
        for (int i = 0; i < ndims; i++) {
            bool whole = unit_random(3) == 0;
            part.count[i] = whole          ? shape[i]
                            : may_be_empty ? unit_random(shape[i] + 1)
                                           : 1 + unit_random(shape[i]);
            part.start[i] = unit_random(shape[i] - part.count[i] + 1);
        }
        check_runs(&w, &part, number);
        check_middle(&w, &part, number);
    }
}

static void test_split(void) {
    for (uint64_t length = 0; length < 50; length++)
        for (uint64_t parts = 1; parts < 20; parts++) {
            uint64_t end = 0, before = UINT64_MAX;
            for (uint64_t i = 0; i < parts; i++) {
                uint64_t start, count;
                io_split(length, parts, i, &start, &count);
                CHECK(start == end, "%" PRIu64 " in %" PRIu64 ": part %" PRIu64, length, parts, i);
                CHECK(count == length / parts || count == length / parts + 1,
                      "%" PRIu64 " in %" PRIu64 ": part %" PRIu64 " has %" PRIu64, length, parts, i, count);
                CHECK(count <= before, "%" PRIu64 " in %" PRIu64 ": part %" PRIu64 " is larger", length,
                      parts, i);
                before = count;
                end = start + count;
            }
            CHECK(end == length, "%" PRIu64 " in %" PRIu64 " parts end at %" PRIu64, length, parts, end);
        }
    uint64_t start, count;
    io_split(UINT64_C(3) << 60, 3, 2, &start, &count);
    CHECK(start == UINT64_C(2) << 60 && count == UINT64_C(1) << 60, "above 32 bits: %" PRIu64, start);
}

static void test_sizes(void) {
    static const uint64_t lengths[] = {800, 800, 800, 11};
    io_dim dims[4];
    for (int i = 0; i < 4; i++) dims[i] = (io_dim){"x", lengths[i]};
    io_dataset datasets[3] = {
        {.name = "a", .type = IO_FLOAT64, .ndims = 4, .dim = {3, 2, 1, 0}},
        {.name = "b", .type = IO_INT32,   .ndims = 3, .dim = {2, 1, 0}   },
        {.name = "c", .type = IO_BYTE,    .ndims = 1, .dim = {0}         },
    };
    io_schema schema = {.ndims = 4, .ndatasets = 3, .dims = dims, .datasets = datasets};
    uint64_t points = UINT64_C(512000000);
    CHECK(io_dataset_length(&schema, 0) == 11 * points, "four dimensions");
    CHECK(io_dataset_bytes(&schema, 0) == 88 * points, "45 GB of float64");
    CHECK(io_dataset_bytes(&schema, 1) == 4 * points, "2 GB of int32");
    CHECK(io_dataset_offset(&schema, 0) == 0, "first");
    CHECK(io_dataset_offset(&schema, 2) == 92 * points, "last, after 47 GB");
    io_part part = {
        .dataset = 0, .count = {11, 400, 800, 800}
    };
    CHECK(io_part_bytes(&schema, &part) == 44 * points, "half of it");
    /* One run above 2^32 elements, and its position in the last half. */
    part.start[0] = 5, part.count[0] = 6, part.count[1] = 800;
    io_runs r = io_runs_of(&schema, &part);
    CHECK(io_runs_next(&r) && r.global == 5 * points && r.length == 6 * points, "a run of 3e9 elements");
    CHECK(!io_runs_next(&r), "only one run");
}

void unit_layout(void) {
    test_runs();
    test_split();
    test_sizes();
}
