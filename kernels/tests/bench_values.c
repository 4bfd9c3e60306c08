/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast values are made and checked, GB/s of one process: `make bench` starts one on each core.
 * Each process prints a line of JSON; no MPI is started. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver/values.h"

#define REPEATS 7
#define BYTES ((uint64_t)64 << 20)
#define SIDE 80 /* 11 x 80^3 float64: 45 MB, in rows of half a side */
#define TRANSFER ((uint64_t)1 << 20)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    const char *name;
    io_schema schema;
    io_part part; /* the first one */
    uint64_t parts;
} layout;

/* The best of a few: what the code can do, not what else the machine does. */
static double rate(const layout *l, char *buffer, bool verifying, uint64_t *wrong) {
    double best = 0;
    uint64_t each = io_part_bytes(&l->schema, &l->part);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        io_check check = {0};
        double began = now();
        for (uint64_t i = 0; i < l->parts; i++) {
            io_part part = l->part;
            part.start[0] += i * part.count[0];
            part.data = buffer + i * each;
            if (verifying)
                io_verify(&l->schema, &part, 1, 0, &check);
            else
                io_fill(&l->schema, &part, 1, 0);
        }
        double speed = (double)(each * l->parts) / (now() - began) / 1e9;
        if (speed > best) best = speed;
        *wrong += check.wrong;
    }
    return best;
}

int main(void) {
    const io_dim bytes =
                     {
                         "bytes", BYTES
    },
                 grid[] = {{"species", 11}, {"z", SIDE}, {"y", SIDE}, {"x", SIDE}};
    const io_dataset raw =
                         {
                             .name = "data", .type = IO_BYTE, .ndims = 1
    },
                     field = {.name = "yspecies", .type = IO_FLOAT64, .ndims = 4, .dim = {0, 1, 2, 3}};
    const layout layouts[] = {
        {"ior",
         {.ndims = 1, .dims = &bytes, .ndatasets = 1, .datasets = &raw},
         {.count = {TRANSFER}},
         BYTES / TRANSFER},
        {"s3d",
         {.ndims = 4, .dims = grid, .ndatasets = 1, .datasets = &field},
         {.start = {0, 0, 0, SIDE / 2}, .count = {11, SIDE, SIDE, SIDE / 2}},
         1               },
    };
    enum { LAYOUTS = sizeof layouts / sizeof *layouts };
    double fill[LAYOUTS], verify[LAYOUTS];
    uint64_t wrong = 0;
    char *buffer = calloc(1, BYTES);
    if (!buffer) return EXIT_FAILURE;
    for (int i = 0; i < LAYOUTS; i++) {
        fill[i] = rate(&layouts[i], buffer, false, &wrong);
        verify[i] = rate(&layouts[i], buffer, true, &wrong);
    }
    free(buffer);
    printf("{\"fill\": {\"%s\": %.3f, \"%s\": %.3f}, \"verify\": {\"%s\": %.3f, \"%s\": %.3f}}\n",
           layouts[0].name, fill[0], layouts[1].name, fill[1], layouts[0].name, verify[0], layouts[1].name,
           verify[1]);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
