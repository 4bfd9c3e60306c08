/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of the headers of a RAMSES dump. */
#include "patterns/ramses.h"

#include <inttypes.h>
#include <string.h>

#define ORDERING_LENGTH 128
#define NUMBTOT_LENGTH 10
#define NUMBB_LENGTH 100 /* RAMSES's MAXBOUND */

static uint64_t tree_nodes(const ramses_levels *l) {
    uint64_t leaves = 1;
    while (leaves < l->processes) leaves *= 2;
    return 2 * leaves - 1;
}

uint64_t ramses_table_length(const ramses_levels *l, const ramses_table *t) {
    uint64_t levels = (uint64_t)l->levels;
    switch (t->source) {
    case RAMSES_ORDERING: return ORDERING_LENGTH;
    case RAMSES_TIMES: return levels;
    case RAMSES_NUMBTOT: return NUMBTOT_LENGTH * levels;
    case RAMSES_HEADL:
    case RAMSES_TAILL:
    case RAMSES_NUMBL: return l->processes * levels;
    case RAMSES_NUMBB: return NUMBB_LENGTH * levels;
    case RAMSES_WALLS:
    case RAMSES_INDEX: return tree_nodes(l);
    case RAMSES_NEXT: return 2 * tree_nodes(l);
    case RAMSES_BOX_MIN:
    case RAMSES_BOX_MAX: return RAMSES_NDIM * l->processes;
    default: return (uint64_t)t->count;
    }
}

/* In a process's file its grids are numbered from 1, by level, then by cpu. */
static void list_heads(const ramses_levels *l, uint64_t owner, ramses_source source, int32_t *out) {
    ramses_block blocks[RAMSES_PIECES];
    memset(out, 0, l->processes * (uint64_t)l->levels * sizeof *out);
    for (int level = 0; level < l->levels; level++) {
        const ramses_view *view = ramses_view_of(l, level, owner);
        for (int i = ramses_blocks(view, blocks) - 1; i >= 0; i--) {
            uint64_t before = view->below + blocks[i].first, n = blocks[i].count;
            uint64_t value = source == RAMSES_NUMBL ? n : source == RAMSES_HEADL ? before + 1 : before + n;
            out[(uint64_t)level * l->processes + blocks[i].cpu] = (int32_t)value;
        }
    }
}

/* Owned grids only, as RAMSES counts them. */
static void count_levels(const ramses_levels *l, int32_t *out) {
    memset(out, 0, NUMBTOT_LENGTH * (size_t)l->levels * sizeof *out);
    for (int level = 0; level < l->levels; level++, out += NUMBTOT_LENGTH) {
        out[0] = (int32_t)l->owned[level].all;
        out[1] = (int32_t)l->owned[level].least;
        out[2] = (int32_t)l->owned[level].most;
        out[3] = (int32_t)(l->owned[level].all / l->processes);
    }
}

/* The float64 may be unaligned. */
static void put(char *out, uint64_t index, double value) {
    memcpy(out + index * sizeof value, &value, sizeof value);
}

/* The coordinate where grid `place` begins, in a box of length 1. */
static double position(const ramses_levels *l, uint64_t place) {
    return (double)place / (double)((uint64_t)1 << (l->base - 1));
}

/* The tree of walls as numbered by build_bisection: from 1, the children of n are 2n and 2n + 1. A table with
 * two columns is stored by column. */
static void list_nodes(const ramses_levels *l, ramses_source source, uint64_t node, uint64_t first,
                       uint64_t n, int axis, const ramses_box *box, void *out) {
    int32_t *ints = out;
    ramses_box low = *box, high = *box;
    if (n == 1) {
        if (source == RAMSES_INDEX) ints[node - 1] = (int32_t)first + 1;
        return;
    }
    low.to[axis] = high.from[axis] = ramses_wall(box, axis, n);
    if (source == RAMSES_WALLS) put(out, node - 1, position(l, low.to[axis]));
    for (uint64_t i = 0; i < 2 && source == RAMSES_NEXT; i++)
        ints[node - 1 + i * tree_nodes(l)] = (int32_t)(2 * node + i);
    list_nodes(l, source, 2 * node, first, n / 2, (axis + 1) % 3, &low, out);
    list_nodes(l, source, 2 * node + 1, first + n / 2, n - n / 2, (axis + 1) % 3, &high, out);
}

static void list_domains(const ramses_levels *l, ramses_source source, void *out) {
    for (uint64_t cpu = 0; cpu < l->processes; cpu++) {
        ramses_box box = ramses_domain(l, cpu);
        for (uint64_t d = 0; d < RAMSES_NDIM; d++)
            put(out, d * l->processes + cpu, position(l, source == RAMSES_BOX_MIN ? box.from[d] : box.to[d]));
    }
}

void ramses_table_facts(const ramses *s, const ramses_table *t, uint64_t owner, uint64_t step, void *out) {
    const ramses_levels *l = &s->levels;
    int32_t ints[RAMSES_SCALARS];
    double doubles[RAMSES_SCALARS];
    const uint64_t edge = (uint64_t)1 << (l->base - 1);
    const ramses_box box = {
        .to = {edge, edge, edge}
    };
    s->kind->scalars(l, owner, step, ints, doubles);
    switch (t->source) {
    case RAMSES_INTS: memcpy(out, ints + t->first, (size_t)t->count * sizeof *ints); break;
    case RAMSES_DOUBLES: memcpy(out, doubles + t->first, (size_t)t->count * sizeof *doubles); break;
    case RAMSES_ORDERING:
        memset(out, ' ', ORDERING_LENGTH);
        memcpy(out, "bisection", strlen("bisection"));
        break;
    case RAMSES_TIMES:
        for (int i = 0; i < l->levels; i++) put(out, (uint64_t)i, doubles[t->first]);
        break;
    case RAMSES_NUMBTOT: count_levels(l, out); break;
    case RAMSES_NUMBB: /* there is none (nboundary is 0), so lost writes, which read as zeros, are not
                          detected here */
        memset(out, -1, ramses_table_length(l, t) * sizeof *ints);
        break;
    case RAMSES_WALLS:
    case RAMSES_NEXT:
    case RAMSES_INDEX:
        memset(out, 0,
               ramses_table_length(l, t) * (t->source == RAMSES_WALLS ? sizeof *doubles : sizeof *ints));
        list_nodes(l, t->source, 1, 0, l->processes, 0, &box, out);
        break;
    case RAMSES_BOX_MIN:
    case RAMSES_BOX_MAX: list_domains(l, t->source, out); break;
    default: list_heads(l, owner, t->source, out); break;
    }
}
