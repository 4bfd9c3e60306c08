/* SPDX-License-Identifier: BSD-3-Clause */
/* cgns-unstructured: the mesh of The HDF Group's CGNS benchmark (benchmark_hdf5).
 *
 * Elements of 6 nodes each (PENTA_6), no node shared, so 6 x elements nodes; 3 coordinates, 3 fields at the
 * nodes, a float64 and an int64 user-defined array, int64 connectivity: 72 bytes per node. Each process has a
 * range of nodes and a range of elements. Coordinates, elements, fields and arrays are one transfer each, and
 * each is timed separately, as in the benchmark. */
#include <stdio.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_cgns_unstructured;

#define NODES_OF_ELEMENT 6
#define BYTES_OF_NODE 72

enum { NODES, ELEMENTS, CORNERS, DIMS };

typedef struct {
    const char *name;
    io_type type;
    io_role role;
} array;

/* In the order of the file, and of the benchmark. */
static const array arrays[] = {
    {"CoordinateX", IO_FLOAT64, IO_COORDINATE  },
    {"CoordinateY", IO_FLOAT64, IO_COORDINATE  },
    {"CoordinateZ", IO_FLOAT64, IO_COORDINATE  },
    {"Elements",    IO_INT64,   IO_CONNECTIVITY},
    {"MomentumX",   IO_FLOAT64, IO_FIELD       },
    {"MomentumY",   IO_FLOAT64, IO_FIELD       },
    {"MomentumZ",   IO_FLOAT64, IO_FIELD       },
    {"ArrayR",      IO_FLOAT64, IO_USER_ARRAY  },
    {"ArrayI",      IO_INT64,   IO_USER_ARRAY  },
};
#define ARRAYS ((int)(sizeof arrays / sizeof *arrays))

/* One transfer each: its name, and its arrays. */
static const struct {
    int first, n;
} groups[] = {
    {0, 3},
    {3, 1},
    {4, 3},
    {7, 2},
};
#define GROUPS (sizeof groups / sizeof *groups)
static const char *const names[GROUPS + 1] = {"coordinates", "elements", "fields", "arrays", NULL};

typedef struct {
    uint64_t elements, processes;
    io_dim dims[DIMS];
    io_dataset datasets[ARRAYS];
} mesh;

static const io_option options[] = {
    {"elements", 256, "N", "elements of the mesh, 6 nodes each (default 65536)"},
    {0},
};

static void defaults(void *state) { ((mesh *)state)->elements = 65536; }

static int option(void *state, int letter, const char *value, io_error *error) {
    (void)letter;
    return io_parse_count("--elements", value, &((mesh *)state)->elements, error);
}

static void build_schema(mesh *m) {
    uint64_t start, elements, nodes;
    io_split(m->elements, m->processes, 0, &start, &elements);
    io_split(m->elements * NODES_OF_ELEMENT, m->processes, 0, &start, &nodes);
    m->dims[NODES] = (io_dim){"nodes", m->elements * NODES_OF_ELEMENT};
    m->dims[ELEMENTS] = (io_dim){"elements", m->elements};
    m->dims[CORNERS] = (io_dim){"corners", NODES_OF_ELEMENT};
    for (int i = 0; i < ARRAYS; i++) {
        io_dataset *d = &m->datasets[i];
        *d = (io_dataset){.name = arrays[i].name,
                          .node = arrays[i].name,
                          .type = arrays[i].type,
                          .role = arrays[i].role,
                          .ndims = 1,
                          .dim = {NODES},
                          .block = {nodes}};
        if (d->role != IO_CONNECTIVITY) continue;
        d->facts = true; /* readers follow them, so they must be valid */
        d->ndims = 2;
        d->dim[0] = ELEMENTS;
        d->dim[1] = CORNERS;
        d->block[0] = elements;
        d->block[1] = NODES_OF_ELEMENT;
    }
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    mesh *m = state;
    if (m->elements > INT64_MAX / (NODES_OF_ELEMENT * BYTES_OF_NODE))
        return io_fail_usage(error, "--elements: more than 2^63 bytes per file; use fewer elements");
    m->processes = setup->processes;
    build_schema(m);
    return 0;
}

static json_t *describe(const void *state) {
    const mesh *m = state;
    return json_pack("{s:I,s:I}", "elements", (json_int_t)m->elements, "nodes",
                     (json_int_t)(m->elements * NODES_OF_ELEMENT));
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const mesh *m = state;
    (void)step;
    *out = (io_schema){.ndims = DIMS, .dims = m->dims, .ndatasets = ARRAYS, .datasets = m->datasets};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "unstructured_%05llu%s", (unsigned long long)step, extension);
}

static uint64_t transfers(const void *state) {
    (void)state;
    return GROUPS;
}

static int stretch(const void *state, uint64_t transfer) {
    (void)state;
    return (int)transfer;
}

static io_part part_of(const mesh *m, uint64_t owner, int dataset) {
    io_part part = {.dataset = dataset};
    uint64_t length = m->dims[m->datasets[dataset].dim[0]].length;
    io_split(length, m->processes, owner, &part.start[0], &part.count[0]);
    if (m->datasets[dataset].ndims > 1) part.count[1] = NODES_OF_ELEMENT;
    return part;
}

static uint64_t bytes_before(const mesh *m, uint64_t owner, int dataset) {
    io_schema s;
    uint64_t sum = 0;
    schema(m, 0, &s);
    for (int i = 0; i < dataset; i++) {
        io_part part = part_of(m, owner, i);
        sum += io_part_bytes(&s, &part);
    }
    return sum;
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const mesh *m = state;
    io_schema s;
    uint64_t offset = bytes_before(m, owner, groups[transfer].first);
    schema(m, 0, &s);
    for (int i = 0; i < groups[transfer].n; i++) {
        out[i] = part_of(m, owner, groups[transfer].first + i);
        out[i].offset = offset;
        offset += io_part_bytes(&s, &out[i]);
    }
    return groups[transfer].n;
}

static uint64_t bytes(const void *state, uint64_t owner) { return bytes_before(state, owner, ARRAYS); }

/* Node numbers, from 1: the nodes of an element are consecutive. */
static void facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    int64_t *number = out;
    (void)state;
    (void)owner;
    (void)step;
    for (uint64_t i = 0; i < part->count[0] * NODES_OF_ELEMENT; i++)
        number[i] = (int64_t)(part->start[0] * NODES_OF_ELEMENT + i + 1);
}

const io_pattern io_pattern_cgns_unstructured = {
    .name = "cgns-unstructured",
    .summary = "The HDF Group's CGNS mesh: coordinates, connectivity, fields, user arrays",
    .options = options,
    .state_size = sizeof(mesh),
    .max_parts = 3,
    .stretches = names,
    .stretch = stretch,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
    .facts = facts,
};
