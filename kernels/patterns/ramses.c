/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, schema and parts of a RAMSES dump; tables define the differences between mesh and gas
 * (ramses.h). */
#include "patterns/ramses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 8
#define LARGEST 2048
#define REFINED_LEVELS 2
#define MAX_RECORD ((uint64_t)INT32_MAX - 8) /* bytes in an unsplit Fortran record */

enum { SIZE = 256, LAYOUT, MERGE, REFINE, VALUES };

const io_option ramses_options[] = {
    {"size", SIZE, "N", "cells along each edge of the box, a power of two (default 128)"},
    {"layout", LAYOUT, "L", "layout of shared files: level-major (default) or process-major"},
    {"merge-levels", MERGE, NULL, "one call per structure (default: per component of each level)"},
    {"refine", REFINE, NULL, "add two levels, with grids on every fourth process"},
    {"values", VALUES, "V", "values of grids: hash (default), or physical: a readable tree and blast wave"},
    {0},
};

void ramses_defaults(ramses *s, const ramses_kind *kind) {
    s->kind = kind;
    s->size = 128;
}

static int set_size(ramses *s, const char *value, io_error *error) {
    if (io_parse_count("--size", value, &s->size, error)) return -1;
    if (s->size >= SMALLEST && s->size <= LARGEST && !(s->size & (s->size - 1))) return 0;
    return io_fail_usage(error, "--size %s: expected a power of two from %d to %d", value, SMALLEST, LARGEST);
}

static int set_layout(ramses *s, const char *value, io_error *error) {
    s->layout_given = true;
    s->process_major = !strcmp(value, "process-major");
    if (s->process_major || !strcmp(value, "level-major")) return 0;
    return io_fail_usage(error, "--layout %s is unknown; expected level-major or process-major", value);
}

static int set_values(ramses *s, const char *value, io_error *error) {
    s->physical = !strcmp(value, "physical");
    if (s->physical || !strcmp(value, "hash")) return 0;
    return io_fail_usage(error, "--values %s is unknown; expected hash or physical", value);
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

/* ---------------------------------------------------------------- configuration */

int ramses_configure(void *state, const io_setup *setup, io_error *error) {
    ramses *s = state;
    int base = __builtin_ctzll(s->size);
    const uint64_t processes = setup->processes;
    if (processes > INT32_MAX)
        return io_fail_usage(error, "RAMSES counts processes in 32 bits; use at most 2^31 - 1");
    s->own_files = setup->own_files;
    if (s->own_files && (s->layout_given || s->merge))
        return io_fail_usage(
            error,
            "--layout and --merge-levels are for shared files, but method %s writes a file per "
            "process, in RAMSES's own order; omit them",
            setup->method);
    if (ramses_levels_set(&s->levels, base, s->refine ? REFINED_LEVELS : 0, processes))
        return io_fail(error, "out of memory for the domains of %" PRIu64 " processes", processes);
    if (s->levels.most > INT32_MAX || (s->own_files && s->levels.most_on_level > MAX_RECORD / 8))
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
    ramses_build_schema(s);
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

/* The grids of one level, or of all levels if contiguous, in one component of a structure or all of them. */
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

/* One component of one level, as RAMSES writes it in one call. */
static void component_part(const ramses *s, uint64_t owner, int structure, uint64_t component, int level,
                           io_part *out) {
    int set = s->first_grid_set + structure;
    uint64_t all = ramses_all_grids(&s->levels, owner), before = component * all;
    for (int i = 0; i < level; i++) before += ramses_grids(&s->levels, i, owner);
    *out = (io_part){.dataset = set,
                     .offset = ramses_header_bytes(s, owner) + ramses_grid_bytes(s, structure) * all +
                               before * io_type_size(s->sets[set].type)};
    set_box(s, out, component, 1, ramses_grid_start(s, level, owner), ramses_grids(&s->levels, level, owner));
}

/* A whole structure: a process's levels are contiguous, or one part per level. */
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
    if (!transfer) return ramses_header_parts(s, owner, out);
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

void ramses_facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    const ramses *s = state;
    int32_t *pairs = out;
    if (s->tables[part->dataset]) {
        if (part->count[0]) ramses_table_facts(s, s->tables[part->dataset], owner, step, out);
        return;
    }
    if (part->dataset >= s->first_grid_set) {
        ramses_values(s, owner, step, part, out);
        return;
    }
    ramses_block blocks[RAMSES_PIECES];
    const ramses_view *view = ramses_view_of(&s->levels, (int)part->start[1], owner);
    int n = ramses_blocks(view, blocks);
    for (uint64_t i = 0; i < part->count[2]; i++) {
        pairs[2 * i] = (int32_t)part->start[1] + 1;
        pairs[2 * i + 1] = 0;
    }
    for (int i = 0; i < n; i++) {
        uint64_t at = blocks[i].cpu - part->start[2];
        if (at < part->count[2]) pairs[2 * at + 1] = (int32_t)blocks[i].count;
    }
}
