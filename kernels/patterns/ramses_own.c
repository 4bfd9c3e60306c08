/* SPDX-License-Identifier: BSD-3-Clause */
/* A file per process, level by level: the grids of each cpu in one block, the process's own and its
 * neighbors', as written by backup_amr and backup_hydro. Blocks without grids have no records, but in a hydro
 * file a block's level and number of grids are written even then. */
#include "patterns/ramses.h"

/* Position of the next part: its offset in the owner's data, and the number of records before it. */
typedef struct {
    uint64_t offset, records;
    io_part *next;
    io_schema schema;
} writer;

/* Completes a part and sets its position. Each row is a record. */
static void finish_part(writer *w) {
    io_part *part = w->next++;
    int last = w->schema.datasets[part->dataset].ndims - 1;
    uint64_t elements = io_part_elements(&w->schema, part);
    part->offset = w->offset;
    part->frames = 8 * w->records + 4;
    w->offset += elements * io_type_size(w->schema.datasets[part->dataset].type);
    w->records += elements ? elements / part->count[last] : 0;
}

/* Level and number of grids for `n` cpus, starting with `first`. */
static void count_part(writer *w, const ramses *s, uint64_t owner, int level, uint64_t first, uint64_t n) {
    *w->next = (io_part){
        .dataset = s->first_grid_set - 1,
        .start = {owner, (uint64_t)level, n ? first : 0},
        .count = {1, 1, n, 2, 1}
    };
    finish_part(w);
}

static void grid_part(writer *w, const ramses *s, int set, uint64_t component, uint64_t ncomponents,
                      uint64_t start, uint64_t count) {
    int last = s->sets[set].ndims - 1;
    *w->next = (io_part){.dataset = set};
    if (last) {
        w->next->start[0] = component;
        w->next->count[0] = ncomponents;
    }
    w->next->start[last] = count ? start : 0;
    w->next->count[last] = count;
    finish_part(w);
}

static void block_parts(writer *w, const ramses *s, uint64_t start, uint64_t count) {
    const ramses_kind *k = s->kind;
    for (uint64_t c = 0; k->cell_major && c < RAMSES_CELLS; c++)
        for (int i = 0; i < k->nstructures; i++) grid_part(w, s, s->first_grid_set + i, c, 1, start, count);
    for (int i = 0; !k->cell_major && i < k->nstructures; i++)
        grid_part(w, s, s->first_grid_set + i, 0, (uint64_t)k->structures[i].components, start, count);
}

/* Records of a level, including its header. */
static uint64_t level_records(const ramses *s, uint64_t owner, int level) {
    ramses_block blocks[RAMSES_PIECES];
    uint64_t each = 0, records = s->kind->counted ? 2 * s->levels.processes : 0;
    for (int i = 0; i < s->kind->nstructures; i++) each += (uint64_t)s->kind->structures[i].components;
    return records + each * (uint64_t)ramses_blocks(ramses_view_of(&s->levels, level, owner), blocks);
}

int ramses_level_parts(const ramses *s, uint64_t owner, int level, io_part *parts) {
    const ramses_levels *l = &s->levels;
    uint64_t counted = s->kind->counted ? 8 * l->processes : 0, done = 0;
    writer w = {.offset = ramses_header_bytes(s, owner), .records = (uint64_t)s->kind->nown, .next = parts};
    ramses_schema(s, 0, &w.schema);
    for (int i = 0; i < level; i++) {
        w.offset += counted + ramses_bytes_per_grid(s) * ramses_grids(l, i, owner);
        w.records += level_records(s, owner, i);
    }
    ramses_block blocks[RAMSES_PIECES];
    uint64_t start = ramses_grid_start(s, level, owner);
    int n = ramses_blocks(ramses_view_of(l, level, owner), blocks);
    for (int i = 0; i < n; i++) {
        if (counted) count_part(&w, s, owner, level, done, blocks[i].cpu + 1 - done);
        done = blocks[i].cpu + 1;
        block_parts(&w, s, start + blocks[i].first, blocks[i].count);
    }
    for (int i = n; i < s->most_blocks; i++) { /* the same number of parts on every process */
        if (counted) count_part(&w, s, owner, level, done, 0);
        block_parts(&w, s, start, 0);
    }
    if (counted) count_part(&w, s, owner, level, done, l->processes - done);
    return (int)(w.next - parts);
}
