/* SPDX-License-Identifier: BSD-3-Clause */
/* s3d: the checkpoint of the S3D combustion code, as in S3D-IO (Northwestern University).
 *
 * At each dump four float64 arrays are written to a new file in canonical order: yspecies(11,z,y,x),
 * u(3,z,y,x), pressure(z,y,x) and temp(z,y,x). x, y and z are distributed block-block-block over the process
 * grid, x fastest; the fourth dimension is not. If the process grid does not divide the grid, the first
 * processes along that axis have one more point. */
#include <stdio.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_s3d;

enum { X, Y, Z, SPECIES, THREE, DIMS };
enum { YSPECIES, U, PRESSURE, TEMP, ARRAYS };

typedef struct {
    uint64_t grid[3], procs[3]; /* x, y, z */
    bool procs_given;
    io_dim dims[DIMS];
    io_dataset arrays[ARRAYS];
} s3d;

static const io_option options[] = {
    {"grid", 256, "NXxNYxNZ", "global grid points (default 100x100x100)"},
    {"procs-grid", 257, "PXxPYxPZ", "process grid (default: near-cubic)"},
    {0},
};

/* S3D-IO's time step and the reference time by which it scales, as in its source: single precision Fortran
 * literals assigned to double. */
static const double TIME_STEP = 1e-6F, TIME_REFERENCE = 1.29889001100892417E-005F, TIME_SAVE = 1.0e5F;
#define SUMMED 10000 /* dumps; file names have four digits, and S3D-IO writes five dumps */

/* S3D's nondimensional time at a dump: S3D adds up the steps, and so rounds after each. */
static double time_at(uint64_t step) {
    const double interval = TIME_STEP / TIME_REFERENCE;
    double time = 0;
    if (step > SUMMED) return (double)step * interval;
    for (uint64_t i = 0; i < step; i++) time += interval;
    return time;
}

static void defaults(void *state) {
    s3d *s = state;
    for (int i = 0; i < 3; i++) s->grid[i] = 100;
}

static int option(void *state, int letter, const char *value, io_error *error) {
    s3d *s = state;
    if (letter == 256) return io_parse_grid("--grid", value, s->grid, error);
    s->procs_given = true;
    return io_parse_grid("--procs-grid", value, s->procs, error);
}

/* Names, shapes and the largest block: process 0's. */
static void build_schema(s3d *s) {
    static const char *const dim_names[DIMS] = {"x", "y", "z", "nsc", "three"};
    static const struct {
        const char *name;
        int ndims, dim[4];
    } layout[ARRAYS] = {
        [YSPECIES] = {"yspecies", 4, {SPECIES, Z, Y, X}},
        [U] = {"u",        4, {THREE, Z, Y, X}  },
        [PRESSURE] = {"pressure", 3, {Z, Y, X}         },
        [TEMP] = {"temp",     3, {Z, Y, X}         },
    };
    uint64_t length[DIMS] = {s->grid[0], s->grid[1], s->grid[2], 11, 3};
    for (int i = 0; i < DIMS; i++) s->dims[i] = (io_dim){dim_names[i], length[i]};
    for (int a = 0; a < ARRAYS; a++) {
        io_dataset *d = &s->arrays[a];
        *d = (io_dataset){
            .name = layout[a].name, .type = IO_FLOAT64, .role = IO_FIELD, .ndims = layout[a].ndims};
        memcpy(d->dim, layout[a].dim, sizeof layout[a].dim);
        for (int i = 0; i < d->ndims; i++) {
            uint64_t parts = d->dim[i] <= Z ? s->procs[d->dim[i]] : 1, start;
            io_split(length[d->dim[i]], parts, 0, &start, &d->block[i]);
        }
    }
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    s3d *s = state;
    const uint64_t processes = setup->processes;
    if (!s->procs_given) io_process_grid(processes, s->procs);
    unsigned long long p[3] = {s->procs[0], s->procs[1], s->procs[2]};
    uint64_t product, points;
    if (__builtin_mul_overflow(p[0], p[1], &product) || __builtin_mul_overflow(product, p[2], &product) ||
        product != processes)
        return io_fail_usage(error,
                             "--procs-grid %llux%llux%llu does not match the %llu processes; "
                             "use mpiexec -n %llu, or a grid whose product is %llu",
                             p[0], p[1], p[2], (unsigned long long)processes, p[0] * p[1] * p[2],
                             (unsigned long long)processes);
    for (int i = 0; i < 3; i++)
        if (s->grid[i] < s->procs[i])
            return io_fail_usage(
                error,
                "--grid has %llu points along %c for %llu processes; use at least one point per process",
                (unsigned long long)s->grid[i], "xyz"[i], p[i]);
    if (__builtin_mul_overflow(s->grid[0], s->grid[1], &points) ||
        __builtin_mul_overflow(points, s->grid[2], &points) || points > INT64_MAX / 128)
        return io_fail_usage(error, "--grid: more than 2^63 bytes per dump; use at most 2^56 points");
    build_schema(s);
    return 0;
}

static json_t *describe(const void *state) {
    const s3d *s = state;
    return json_pack("{s:[I,I,I],s:[I,I,I]}", "grid", (json_int_t)s->grid[0], (json_int_t)s->grid[1],
                     (json_int_t)s->grid[2], "procs_grid", (json_int_t)s->procs[0], (json_int_t)s->procs[1],
                     (json_int_t)s->procs[2]);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const s3d *s = state;
    *out = (io_schema){
        .ndims = DIMS,
        .dims = s->dims,
        .ndatasets = ARRAYS,
        .datasets = s->arrays,
        .nattributes = 3,
        .attributes = {{"time", time_at(step)}, {"tstep", time_at(step ? 1 : 0)}, {"time_save", TIME_SAVE}}
    };
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "pressure_wave_test.%.3E.field%s", time_at(step) * TIME_REFERENCE, extension);
}

static uint64_t transfers(const void *state) {
    (void)state;
    return 1; /* the whole dump; a blocking method makes one call per array */
}

static void own_box(const s3d *s, uint64_t owner, uint64_t start[3], uint64_t count[3]) {
    uint64_t at[3] = {owner % s->procs[0], owner / s->procs[0] % s->procs[1],
                      owner / (s->procs[0] * s->procs[1])};
    for (int i = 0; i < 3; i++) io_split(s->grid[i], s->procs[i], at[i], &start[i], &count[i]);
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const s3d *s = state;
    uint64_t start[3], count[3], offset = 0;
    (void)transfer;
    own_box(s, owner, start, count);
    for (int a = 0; a < ARRAYS; a++) {
        const io_dataset *d = &s->arrays[a];
        uint64_t bytes = 8;
        out[a] = (io_part){.dataset = a, .offset = offset};
        for (int i = 0; i < d->ndims; i++) {
            bool cut = d->dim[i] <= Z;
            out[a].start[i] = cut ? start[d->dim[i]] : 0;
            out[a].count[i] = cut ? count[d->dim[i]] : s->dims[d->dim[i]].length;
            bytes *= out[a].count[i];
        }
        offset += bytes;
    }
    return ARRAYS;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    uint64_t start[3], count[3];
    own_box(state, owner, start, count);
    return 128 * count[0] * count[1] * count[2]; /* 11 + 3 + 1 + 1 values of 8 bytes per point */
}

const io_pattern io_pattern_s3d = {
    .name = "s3d",
    .summary = "S3D checkpoint: four float64 arrays, block-block-block",
    .options = options,
    .state_size = sizeof(s3d),
    .max_parts = ARRAYS,
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
