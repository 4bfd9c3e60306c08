/* SPDX-License-Identifier: BSD-3-Clause */
/* weather: the data of PAIO's tests (NASA-GSFC): float32 fields of a weather or climate model, one after
 * another in one file. Each is [level, latitude, longitude]; the horizontal dimensions are distributed over
 * the processes.
 *
 * Sets: `altix` has 10 arrays of 1440 x 720 x 70; `gsfc` the 23 arrays of 1024 x 1024 x 41 of the GSFC cloud
 * model. For `sc45` the document gives 8 arrays, ~1.37 GB in total, and no grid: 1024 x 1024 x 41 gives
 * 1.376. */
#include <stdio.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_weather;

#define MAX_ARRAYS 64
enum { X, Y, Z, DIMS };
enum { SET = 256, GRID, ARRAYS, MERGE };

typedef struct {
    int set;
    uint64_t grid[3], procs[2], arrays; /* grid: x, y, z; procs: x, y; 0: from the set */
    bool merge;
    io_dim dims[DIMS];
    char names[MAX_ARRAYS][16];
    io_dataset fields[MAX_ARRAYS];
} weather;

static const struct {
    const char *name;
    uint64_t grid[3], arrays;
} sets[] = {
    {"altix", {1440, 720, 70},  10},
    {"sc45",  {1024, 1024, 41}, 8 },
    {"gsfc",  {1024, 1024, 41}, 23},
};

static const io_option options[] = {
    {"set", SET, "NAME", "altix (default), sc45 or gsfc: grid and number of arrays"},
    {"grid", GRID, "NXxNYxNZ", "longitudes, latitudes and levels (default: from --set)"},
    {"arrays", ARRAYS, "N", "number of arrays (default: from --set)"},
    {"merge", MERGE, NULL, "one call for all arrays of a dump (default: one per array)"},
    {0},
};

static void defaults(void *state) { *(weather *)state = (weather){0}; }

static int set_arrays(weather *s, const char *value, io_error *error) {
    if (io_parse_count("--arrays", value, &s->arrays, error)) return -1;
    if (s->arrays <= MAX_ARRAYS) return 0;
    return io_fail_usage(error, "--arrays %s: expected at most %d", value, MAX_ARRAYS);
}

static int option(void *state, int letter, const char *value, io_error *error) {
    weather *s = state;
    if (letter == GRID) return io_parse_grid("--grid", value, s->grid, error);
    if (letter == ARRAYS) return set_arrays(s, value, error);
    if (letter == MERGE) {
        s->merge = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(value, sets[i].name)) {
            s->set = (int)i;
            return 0;
        }
    return io_fail_usage(error, "--set %s: expected altix, sc45 or gsfc", value);
}

/* Near-square, with more divisions of latitude, so that rows stay long. */
static void process_grid(uint64_t processes, uint64_t procs[2]) {
    procs[X] = 1;
    for (uint64_t d = 1; d * d <= processes; d++)
        if (processes % d == 0) procs[X] = d;
    procs[Y] = processes / procs[X];
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    weather *s = state;
    uint64_t all, start;
    if (!s->grid[X]) memcpy(s->grid, sets[s->set].grid, sizeof s->grid);
    if (!s->arrays) s->arrays = sets[s->set].arrays;
    process_grid(setup->processes, s->procs);
    for (int i = X; i <= Y; i++)
        if (s->grid[i] < s->procs[i])
            return io_fail_usage(
                error,
                "--grid has %llu points along %c for %llu processes; use at least one point per process",
                (unsigned long long)s->grid[i], "xy"[i], (unsigned long long)s->procs[i]);
    if (__builtin_mul_overflow(s->grid[X], s->grid[Y], &all) ||
        __builtin_mul_overflow(all, s->grid[Z], &all) || all > INT64_MAX / 4 / MAX_ARRAYS)
        return io_fail_usage(error, "--grid: more than 2^63 bytes per dump; use at most 2^55 points");
    static const char *const names[DIMS] = {"lon", "lat", "lev"};
    for (int i = 0; i < DIMS; i++) s->dims[i] = (io_dim){names[i], s->grid[i]};
    for (uint64_t a = 0; a < s->arrays; a++) {
        snprintf(s->names[a], sizeof s->names[a], "field%02d", (int)(a % 100) + 1);
        io_dataset *d = &s->fields[a];
        *d = (io_dataset){
            .name = s->names[a],
            .type = IO_FLOAT32,
            .role = IO_FIELD,
            .ndims = 3,
            .dim = {Z, Y, X},
            .block = {s->grid[Z]}
        };
        io_split(s->grid[Y], s->procs[Y], 0, &start, &d->block[1]);
        io_split(s->grid[X], s->procs[X], 0, &start, &d->block[2]);
    }
    return 0;
}

static json_t *describe(const void *state) {
    const weather *s = state;
    return json_pack("{s:s,s:[I,I,I],s:[I,I],s:I,s:b}", "set", sets[s->set].name, "grid",
                     (json_int_t)s->grid[X], (json_int_t)s->grid[Y], (json_int_t)s->grid[Z], "procs_grid",
                     (json_int_t)s->procs[X], (json_int_t)s->procs[Y], "arrays", (json_int_t)s->arrays,
                     "merge", s->merge);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const weather *s = state;
    *out = (io_schema){
        .ndims = DIMS,
        .dims = s->dims,
        .ndatasets = (int)s->arrays,
        .datasets = s->fields,
        .nattributes = 1,
        .attributes = {{"step", (double)step}},
    };
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "weather.%05llu%s", (unsigned long long)step + 1, extension);
}

static uint64_t transfers(const void *state) {
    const weather *s = state;
    return s->merge ? 1 : s->arrays;
}

/* The owner's columns of a field. */
static void columns(const weather *s, uint64_t owner, io_part *part) {
    part->count[0] = s->grid[Z];
    io_split(s->grid[Y], s->procs[Y], owner / s->procs[X], &part->start[1], &part->count[1]);
    io_split(s->grid[X], s->procs[X], owner % s->procs[X], &part->start[2], &part->count[2]);
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const weather *s = state;
    int n = s->merge ? (int)s->arrays : 1;
    for (int i = 0; i < n; i++) {
        uint64_t array = transfer + (uint64_t)i;
        out[i] = (io_part){.dataset = (int)array};
        columns(s, owner, &out[i]);
        out[i].offset = array * 4 * out[i].count[0] * out[i].count[1] * out[i].count[2];
    }
    return n;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    const weather *s = state;
    io_part part = {0};
    columns(s, owner, &part);
    return s->arrays * 4 * part.count[0] * part.count[1] * part.count[2];
}

const io_pattern io_pattern_weather = {
    .name = "weather",
    .summary = "float32 fields of a weather model, split horizontally over processes (PAIO)",
    .options = options,
    .state_size = sizeof(weather),
    .max_parts = MAX_ARRAYS,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
};
