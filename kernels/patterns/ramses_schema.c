/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of a RAMSES dump, and the offsets of a process's data. */
#include "patterns/ramses.h"

#include <string.h>

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

/* A data set of the header: a row per process or one for all; by level or flat. */
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

/* In files per process, level and number of grids before each block of grids: a record with one number
 * each. */
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

void ramses_build_schema(ramses *s) {
    const ramses_kind *k = s->kind;
    for (int i = 0; s->own_files && i < k->nown; i++) add_table(s, &k->own[i], true, true);
    for (int i = 0; !s->own_files && i < k->ncommon; i++) add_table(s, &k->common[i], false, false);
    for (int i = 0; !s->own_files && i < k->neach; i++) add_table(s, &k->each[i], true, false);
    if (s->own_files && k->counted) add_counts(s);
    s->first_grid_set = s->nsets;
    for (int i = s->own_files ? 0 : k->own_only; i < k->nstructures; i++) add_structure(s, &k->structures[i]);
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

/* ---------------------------------------------------------------- positions and sizes */

uint64_t ramses_grid_start(const ramses *s, int level, uint64_t owner) {
    uint64_t start = 0;
    if (!s->process_major) return s->level_start[level] + ramses_grids_before(&s->levels, level, owner);
    for (int i = 0; i < s->levels.levels; i++) start += ramses_grids_before(&s->levels, i, owner);
    for (int i = 0; i < level; i++) start += ramses_grids(&s->levels, i, owner);
    return start;
}

/* The header of a process: its own file's, or the common section on process 0 and the process's rows of
 * the next one. */
int ramses_header_parts(const ramses *s, uint64_t owner, io_part *out) {
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
    int n = ramses_header_parts(s, owner, parts);
    return n ? parts[n - 1].offset + io_part_bytes(&schema, &parts[n - 1]) : 0;
}

uint64_t ramses_grid_bytes(const ramses *s, int structures) {
    uint64_t bytes = 0;
    for (int i = 0; i < structures; i++) {
        const io_dataset *d = &s->sets[s->first_grid_set + i];
        uint64_t n = d->ndims > 1 ? s->dims[d->dim[0]].length : 1;
        bytes += n * io_type_size(d->type);
    }
    return bytes;
}

uint64_t ramses_bytes_per_grid(const ramses *s) { return ramses_grid_bytes(s, s->nsets - s->first_grid_set); }
