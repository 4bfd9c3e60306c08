/* SPDX-License-Identifier: BSD-3-Clause */
/* cgns-structured: the grids of "Benchmarking Parallel I/O Performance for CFD Applications" (2005).
 *
 * Writes one structured zone per process, with three float32 coordinates of 50^3 to 250^3 vertices; all
 * processes create all zones, and each fills its own. The paper reads one block of 64^3 to 256^3, split over
 * the processes (--one-block); here it is split along z into whole planes, so with more processes than planes
 * some have none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_cgns_structured;

enum { Z, Y, X, DIMS }; /* slowest first */
#define COORDINATES 3
#define NAME_SIZE 48

typedef struct {
    uint64_t edge[DIMS], zones, processes;
    bool one_block, by_coordinate;
    io_type type;
    io_dim dims[DIMS];
    io_dataset *arrays; /* zones * COORDINATES */
    char (*names)[NAME_SIZE];
} structured;

static const char *const nodes[COORDINATES] = {"CoordinateX", "CoordinateY", "CoordinateZ"};

static const io_option options[] = {
    {"zone", 256, "XxYxZ", "vertices of each process's zone (default 50x50x50)"},
    {"one-block", 257, "XxYxZ", "one zone instead, split over the processes along z"},
    {"real", 258, "TYPE", "type of the coordinates: float32 (default) or float64"},
    {"by-coordinate", 259, NULL, "one call per coordinate (default: all three at once)"},
    {0},
};

static void defaults(void *state) {
    structured *s = state;
    for (int i = 0; i < DIMS; i++) s->edge[i] = 50;
    s->type = IO_FLOAT32;
}

static int set_type(structured *s, const char *value, io_error *error) {
    for (io_type type = IO_FLOAT32; type <= IO_FLOAT64; type++)
        if (!strcmp(io_type_name(type), value)) {
            s->type = type;
            return 0;
        }
    return io_fail_usage(error, "--real %s is unknown; expected float32 or float64", value);
}

static int option(void *state, int letter, const char *value, io_error *error) {
    structured *s = state;
    uint64_t xyz[3];
    if (letter == 259) {
        s->by_coordinate = true;
        return 0;
    }
    if (letter == 258) return set_type(s, value, error);
    if (io_parse_grid(letter == 256 ? "--zone" : "--one-block", value, xyz, error)) return -1;
    for (int i = 0; i < DIMS; i++) s->edge[i] = xyz[DIMS - 1 - i];
    s->one_block = letter == 257;
    return 0;
}

/* Planes of a process: all of its zone, or its share of the block. */
static void planes_of(const structured *s, uint64_t owner, uint64_t *start, uint64_t *count) {
    if (s->one_block)
        io_split(s->edge[Z], s->processes, owner, start, count);
    else
        *start = 0, *count = s->edge[Z];
}

static int build_schema(structured *s, io_error *error) {
    static const char *const dim_names[DIMS] = {"z", "y", "x"};
    uint64_t start, planes;
    planes_of(s, 0, &start, &planes);
    for (int i = 0; i < DIMS; i++) s->dims[i] = (io_dim){dim_names[i], s->edge[i]};
    s->arrays = calloc(s->zones * COORDINATES, sizeof *s->arrays);
    s->names = calloc(s->zones * COORDINATES, sizeof *s->names);
    if (!s->arrays || !s->names)
        return io_fail(error, "out of memory for %llu zones", (unsigned long long)s->zones);
    for (uint64_t i = 0; i < s->zones * COORDINATES; i++) {
        const char *node = nodes[i % COORDINATES];
        if (s->one_block)
            snprintf(s->names[i], NAME_SIZE, "%s", node);
        else
            snprintf(s->names[i], NAME_SIZE, "Zone%06llu_%s", (unsigned long long)(i / COORDINATES + 1),
                     node);
        s->arrays[i] = (io_dataset){
            .name = s->names[i],
            .node = node,
            .zone = (int)(i / COORDINATES),
            .type = s->type,
            .role = IO_COORDINATE,
            .ndims = DIMS,
            .dim = {Z,      Y,          X         },
            .block = {planes, s->edge[Y], s->edge[X]}
        };
    }
    return 0;
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    structured *s = state;
    uint64_t bytes = COORDINATES * io_type_size(s->type);
    s->processes = setup->processes;
    s->zones = s->one_block ? 1 : s->processes;
    for (int i = 0; i < DIMS; i++) {
        if (s->edge[i] < 2)
            return io_fail_usage(error,
                                 "a zone has at least one cell along each edge; use at least 2x2x2 vertices");
        if (__builtin_mul_overflow(bytes, s->edge[i], &bytes)) bytes = UINT64_MAX;
    }
    if (__builtin_mul_overflow(bytes, s->zones, &bytes) || bytes > INT64_MAX)
        return io_fail_usage(error, "--zone: more than 2^63 bytes per file; use a smaller zone");
    return build_schema(s, error);
}

static void release(void *state) {
    structured *s = state;
    free(s->arrays);
    free(s->names);
}

static json_t *describe(const void *state) {
    const structured *s = state;
    return json_pack("{s:[I,I,I],s:I,s:b,s:b,s:s}", "zone", (json_int_t)s->edge[X], (json_int_t)s->edge[Y],
                     (json_int_t)s->edge[Z], "zones", (json_int_t)s->zones, "one_block", s->one_block,
                     "by_coordinate", s->by_coordinate, "real", io_type_name(s->type));
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const structured *s = state;
    (void)step;
    *out = (io_schema){
        .ndims = DIMS, .dims = s->dims, .ndatasets = (int)s->zones * COORDINATES, .datasets = s->arrays};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "structured_%05llu%s", (unsigned long long)step, extension);
}

static uint64_t transfers(const void *state) {
    return ((const structured *)state)->by_coordinate ? COORDINATES : 1;
}

/* Every transfer has the same number. */
static int most_parts(const void *state) {
    const structured *s = state;
    return (int)s->zones * (s->by_coordinate ? 1 : COORDINATES);
}

/* All zones for every process, because a collective call on a zone involves all processes. */
static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const structured *s = state;
    int n = most_parts(state);
    uint64_t start, planes;
    planes_of(s, owner, &start, &planes);
    uint64_t each = planes * s->edge[Y] * s->edge[X] * io_type_size(s->type), offset = transfer * each;
    for (int i = 0; i < n; i++) {
        int dataset = s->by_coordinate ? i * COORDINATES + (int)transfer : i;
        bool own = s->one_block || (uint64_t)s->arrays[dataset].zone == owner;
        out[i] = (io_part){.dataset = dataset, .offset = offset};
        if (!own || !planes) continue;
        out[i].start[Z] = start;
        out[i].count[Z] = planes;
        out[i].count[Y] = s->edge[Y];
        out[i].count[X] = s->edge[X];
        offset += each;
    }
    return n;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    const structured *s = state;
    uint64_t start, planes;
    planes_of(s, owner, &start, &planes);
    return planes * s->edge[Y] * s->edge[X] * COORDINATES * io_type_size(s->type);
}

const io_pattern io_pattern_cgns_structured = {
    .name = "cgns-structured",
    .summary = "parallel CGNS 2005: a structured zone per process, or one block split over all",
    .options = options,
    .state_size = sizeof(structured),
    .most_parts = most_parts,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .release = release,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
};
