/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, schema and parts of a RAMSES dump; tables say what differs between mesh and gas (ramses.h). */
#include "patterns/ramses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 8
#define LARGEST 2048
#define REFINED_LEVELS 2
#define MOST_RECORD ((uint64_t)INT32_MAX - 8) /* bytes, of a Fortran record in one piece */

enum { SIZE = 256, LAYOUT, MERGE, REFINE, VALUES };

const io_option ramses_options[] = {
    {"size", SIZE, "N", "cells along each edge of the box, a power of two (default 128)"},
    {"layout", LAYOUT, "L", "of shared files: level-major (default) or process-major"},
    {"merge-levels", MERGE, NULL, "one call for each structure, not for each component of each level"},
    {"refine", REFINE, NULL, "two levels more, with grids on every fourth process only"},
    {"values", VALUES, "V", "of grids: hash (default), or physical: a tree and a blast wave to be read"},
    {0},
};

void ramses_defaults(ramses *s, const ramses_kind *kind) {
    s->kind = kind;
    s->size = 128;
}

static int set_size(ramses *s, const char *value, io_error *error) {
    if (io_parse_count("--size", value, &s->size, error)) return -1;
    if (s->size >= SMALLEST && s->size <= LARGEST && !(s->size & (s->size - 1))) return 0;
    return io_fail_usage(error, "--size %s: right is a power of two from %d to %d", value, SMALLEST, LARGEST);
}

static int set_layout(ramses *s, const char *value, io_error *error) {
    s->layout_given = true;
    s->process_major = !strcmp(value, "process-major");
    if (s->process_major || !strcmp(value, "level-major")) return 0;
    return io_fail_usage(error, "--layout %s is unknown; right is level-major or process-major", value);
}

static int set_values(ramses *s, const char *value, io_error *error) {
    s->physical = !strcmp(value, "physical");
    if (s->physical || !strcmp(value, "hash")) return 0;
    return io_fail_usage(error, "--values %s is unknown; right is hash or physical", value);
}

int ramses_option(void *state, int letter, const char *value, io_error *error) {
    ramses *s = state;
    switch (letter) {
    case SIZE: return set_size(s, value, error);
    case LAYOUT: return set_layout(s, value, error);
    case MERGE: s->merge = true; return 0;
    case VALUES: return set_values(s, value, error);
    default: s->refine = true; return 0;
    }
}

/* ---------------------------------------------------------------- schema */

static int dim(ramses *s, const char *name, const char *suffix, uint64_t length) {
    char text[sizeof *s->names];
    snprintf(text, sizeof text, "%s%s", name, suffix);
    for (int i = 0; i < s->ndims; i++)
        if (!strcmp(s->names[i], text)) return i;
    memcpy(s->names[s->ndims], text, sizeof text);
    s->dims[s->ndims] = (io_dim){s->names[s->ndims], length};
    return s->ndims++;
}

static int cpu_dim(ramses *s) { return dim(s, "ncpu", "", s->levels.processes); }
static int level_dim(ramses *s) { return dim(s, "nlevelmax", "", (uint64_t)s->levels.levels); }

static io_dataset *add_set(ramses *s, const char *name, io_type type) {
    io_dataset *d = &s->sets[s->nsets++];
    *d = (io_dataset){.name = name, .type = type};
    return d;
}

static void add_dim(io_dataset *d, int index, uint64_t block) {
    d->block[d->ndims] = block;
    d->dim[d->ndims++] = index;
}

static io_type table_type(const ramses_table *t) {
    if (t->source == RAMSES_ORDERING) return IO_BYTE;
    switch (t->source) {
    case RAMSES_DOUBLES:
    case RAMSES_TIMES:
    case RAMSES_WALLS:
    case RAMSES_BOX_MIN:
    case RAMSES_BOX_MAX: return IO_FLOAT64;
    default: return IO_INT32;
    }
}

/* A header's data set: with a row for each process, or for all; as a table of levels, or flat. */
static void add_table(ramses *s, const ramses_table *t, bool each, bool flat) {
    uint64_t length = ramses_table_length(&s->levels, t), levels = (uint64_t)s->levels.levels;
    bool by_level = t->source >= RAMSES_NUMBTOT && t->source <= RAMSES_NUMBB && !flat;
    bool by_cpu = t->source >= RAMSES_HEADL && t->source <= RAMSES_NUMBL && !flat;
    s->tables[s->nsets] = t;
    io_dataset *d = add_set(s, t->name, table_type(t));
    d->role = IO_PARAMETER;
    d->small = d->facts = true;
    if (each) add_dim(d, cpu_dim(s), 1);
    if (by_level) {
        length /= levels;
        add_dim(d, level_dim(s), levels);
    }
    add_dim(d, by_cpu ? cpu_dim(s) : dim(s, t->name, "_values", length), length);
}

/* In files of their own, level and number of grids before each block of grids: a record of one number each.
 */
static void add_counts(ramses *s) {
    io_dataset *d = add_set(s, "level_and_count", IO_INT32);
    d->facts = true;
    add_dim(d, cpu_dim(s), 1);
    add_dim(d, level_dim(s), 1);
    add_dim(d, cpu_dim(s), s->levels.processes);
    add_dim(d, dim(s, "two", "", 2), 2);
    add_dim(d, dim(s, "one", "", 1), 1);
}

static void add_structure(ramses *s, const ramses_structure *t) {
    static const char *const names[] = {[3] = "ndim", [6] = "twondim", [8] = "twotondim"};
    bool all_components = s->own_files ? !s->kind->cell_major : s->merge && s->process_major;
    bool all_levels = s->merge && s->process_major;
    io_dataset *d = add_set(s, t->name, t->type);
    uint64_t components = (uint64_t)t->components;
    d->facts = d->zeros = s->physical;
    if (components > 1)
        add_dim(d, dim(s, names[components], "", components), all_components ? components : 1);
    add_dim(d, dim(s, "grids", "", s->grids), all_levels ? s->levels.most : s->levels.most_on_level);
}

static void build_schema(ramses *s) {
    const ramses_kind *k = s->kind;
    for (int i = 0; s->own_files && i < k->nown; i++) add_table(s, &k->own[i], true, true);
    for (int i = 0; !s->own_files && i < k->ncommon; i++) add_table(s, &k->common[i], false, false);
    for (int i = 0; !s->own_files && i < k->neach; i++) add_table(s, &k->each[i], true, false);
    if (s->own_files && k->counted) add_counts(s);
    s->first_grid_set = s->nsets;
    for (int i = s->own_files ? 0 : k->own_only; i < k->nstructures; i++) add_structure(s, &k->structures[i]);
}

int ramses_configure(void *state, const io_setup *setup, io_error *error) {
    ramses *s = state;
    int base = __builtin_ctzll(s->size);
    const uint64_t processes = setup->processes;
    if (processes > INT32_MAX)
        return io_fail_usage(error, "RAMSES counts processes in 32 bits; right is at most 2^31 - 1");
    s->own_files = setup->own_files;
    if (s->own_files && (s->layout_given || s->merge))
        return io_fail_usage(error,
                             "--layout and --merge-levels are for shared files, and method %s writes one for "
                             "each process, in RAMSES's own order; leave them out",
                             setup->method);
    if (ramses_levels_set(&s->levels, base, s->refine ? REFINED_LEVELS : 0, processes))
        return io_fail(error, "out of memory for the domains of %" PRIu64 " processes", processes);
    if (s->levels.most > INT32_MAX || (s->own_files && s->levels.most_on_level > MOST_RECORD / 8))
        return io_fail_usage(
            error,
            "--size %" PRIu64 " gives a process %" PRIu64 " grids, %" PRIu64 " on one level; "
            "RAMSES counts them in 32 bits, and the bytes of a record too: use more processes",
            s->size, s->levels.most, s->levels.most_on_level);
    if (s->physical && s->levels.most > INT32_MAX / RAMSES_CELLS - 1)
        return io_fail_usage(error,
                             "--size %" PRIu64 " gives a process %" PRIu64
                             " grids; RAMSES counts their cells in "
                             "32 bits: use more processes, or --values hash",
                             s->size, s->levels.most);
    if (s->physical && s->kind->gas && !(s->profile = ramses_make_profile()))
        return io_fail(error, "out of memory for the profile of the gas");
    s->most_blocks = processes < RAMSES_BLOCKS ? (int)processes : RAMSES_BLOCKS;
    for (int i = 0; i < s->levels.levels; i++) {
        s->level_start[i] = s->grids;
        s->grids += ramses_grids_before(&s->levels, i, processes);
    }
    build_schema(s);
    return 0;
}

void ramses_release(void *state) {
    ramses *s = state;
    ramses_levels_release(&s->levels);
    free(s->profile);
    s->profile = NULL;
}

json_t *ramses_describe(const void *state) {
    const ramses *s = state;
    const char *layout = s->own_files ? "own files" : s->process_major ? "process-major" : "level-major";
    return json_pack("{s:I,s:s,s:b,s:b,s:s,s:i,s:I}", "size", (json_int_t)s->size, "layout", layout,
                     "merge_levels", s->merge, "refine", s->refine, "values",
                     s->physical ? "physical" : "hash", "levels", s->levels.levels, "grids",
                     (json_int_t)s->grids);
}

void ramses_schema(const void *state, uint64_t step, io_schema *out) {
    const ramses *s = state;
    (void)step;
    *out = (io_schema){.ndims = s->ndims,
                       .dims = s->dims,
                       .ndatasets = s->nsets,
                       .datasets = s->sets,
                       .records = s->own_files};
}

void ramses_file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    snprintf(name, size, "%s_%05" PRIu64 "%s", ((const ramses *)state)->kind->name, step + 1, extension);
}

void ramses_own_name(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size) {
    (void)number;
    snprintf(name, size, "output_%05" PRIu64 "/%s_%05" PRIu64 ".out%05" PRIu64, step + 1,
             ((const ramses *)state)->kind->name, step + 1, owner + 1);
}

/* ---------------------------------------------------------------- parts */

static int components(const ramses *s) {
    int sum = 0;
    for (int i = s->own_files ? 0 : s->kind->own_only; i < s->kind->nstructures; i++)
        sum += s->kind->structures[i].components;
    return sum;
}

uint64_t ramses_transfers(const void *state) {
    const ramses *s = state;
    if (s->own_files) return 1 + (uint64_t)s->levels.levels;
    if (s->merge) return 1 + (uint64_t)(s->nsets - s->first_grid_set);
    return 1 + (uint64_t)components(s) * (uint64_t)s->levels.levels;
}

uint64_t ramses_grid_start(const ramses *s, int level, uint64_t owner) {
    uint64_t start = 0;
    if (!s->process_major) return s->level_start[level] + ramses_grids_before(&s->levels, level, owner);
    for (int i = 0; i < s->levels.levels; i++) start += ramses_grids_before(&s->levels, i, owner);
    for (int i = 0; i < level; i++) start += ramses_grids(&s->levels, i, owner);
    return start;
}

/* One process's header: of its own, or the common section from process 0 and its rows of the next one. */
static int header_parts(const ramses *s, uint64_t owner, io_part *out) {
    int n = s->own_files && s->kind->counted ? s->first_grid_set - 1 : s->first_grid_set;
    io_schema schema;
    uint64_t offset = 0;
    ramses_schema(s, 0, &schema);
    for (int i = 0; i < n; i++) {
        const io_dataset *d = &s->sets[i];
        bool common = !s->own_files && i < s->kind->ncommon, mine = !common || owner == 0;
        out[i] = (io_part){.dataset = i, .offset = offset, .frames = 8 * (uint64_t)i + 4};
        for (int k = 0; mine && k < d->ndims; k++) out[i].count[k] = d->block[k];
        if (!common) out[i].start[0] = owner;
        offset += io_part_bytes(&schema, &out[i]);
    }
    return n;
}

uint64_t ramses_header_bytes(const ramses *s, uint64_t owner) {
    io_part parts[RAMSES_SETS];
    io_schema schema;
    ramses_schema(s, 0, &schema);
    int n = header_parts(s, owner, parts);
    return n ? parts[n - 1].offset + io_part_bytes(&schema, &parts[n - 1]) : 0;
}

/* Bytes of a grid in the first so many structures of the schema. */
static uint64_t grid_bytes(const ramses *s, int structures) {
    uint64_t bytes = 0;
    for (int i = 0; i < structures; i++) {
        const io_dataset *d = &s->sets[s->first_grid_set + i];
        uint64_t n = d->ndims > 1 ? s->dims[d->dim[0]].length : 1;
        bytes += n * io_type_size(d->type);
    }
    return bytes;
}

uint64_t ramses_bytes_per_grid(const ramses *s) { return grid_bytes(s, s->nsets - s->first_grid_set); }

/* The grids of one level, or of all where that is one piece, in one component or all of a structure. */
static void set_box(const ramses *s, io_part *part, uint64_t component, uint64_t ncomponents, uint64_t start,
                    uint64_t count) {
    int last = s->sets[part->dataset].ndims - 1;
    if (last) {
        part->start[0] = component;
        part->count[0] = ncomponents;
    }
    part->start[last] = count ? start : 0;
    part->count[last] = count;
}

/* One component of one level: the call of RAMSES. */
static void component_part(const ramses *s, uint64_t owner, int structure, uint64_t component, int level,
                           io_part *out) {
    int set = s->first_grid_set + structure;
    uint64_t all = ramses_all_grids(&s->levels, owner), before = component * all;
    for (int i = 0; i < level; i++) before += ramses_grids(&s->levels, i, owner);
    *out = (io_part){.dataset = set,
                     .offset = ramses_header_bytes(s, owner) + grid_bytes(s, structure) * all +
                               before * io_type_size(s->sets[set].type)};
    set_box(s, out, component, 1, ramses_grid_start(s, level, owner), ramses_grids(&s->levels, level, owner));
}

/* A whole structure: a process's levels lie together, or in a part of each. */
static int structure_parts(const ramses *s, uint64_t owner, int structure, io_part *out) {
    const io_dataset *d = &s->sets[s->first_grid_set + structure];
    uint64_t ncomponents = d->ndims > 1 ? s->dims[d->dim[0]].length : 1;
    int n = 0;
    if (s->process_major) {
        component_part(s, owner, structure, 0, 0, out);
        set_box(s, out, 0, ncomponents, ramses_grid_start(s, 0, owner), ramses_all_grids(&s->levels, owner));
        return 1;
    }
    for (uint64_t c = 0; c < ncomponents; c++)
        for (int level = 0; level < s->levels.levels; level++)
            component_part(s, owner, structure, c, level, &out[n++]);
    return n;
}

int ramses_parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const ramses *s = state;
    uint64_t levels = (uint64_t)s->levels.levels;
    int structure = 0;
    if (!transfer) return header_parts(s, owner, out);
    transfer--;
    if (s->own_files) return ramses_level_parts(s, owner, (int)transfer, out);
    if (s->merge) return structure_parts(s, owner, (int)transfer, out);
    uint64_t component = transfer / levels;
    for (;; structure++) {
        const io_dataset *d = &s->sets[s->first_grid_set + structure];
        uint64_t n = d->ndims > 1 ? s->dims[d->dim[0]].length : 1;
        if (component < n) break;
        component -= n;
    }
    component_part(s, owner, structure, component, (int)(transfer % levels), out);
    return 1;
}

uint64_t ramses_bytes(const void *state, uint64_t owner) {
    const ramses *s = state;
    uint64_t counts =
        s->own_files && s->kind->counted ? 8 * s->levels.processes * (uint64_t)s->levels.levels : 0;
    return ramses_header_bytes(s, owner) + counts +
           ramses_bytes_per_grid(s) * ramses_all_grids(&s->levels, owner);
}
