/* SPDX-License-Identifier: BSD-3-Clause */
/* Which grids (octs) of the mesh each process of a RAMSES run holds on each level, its own and ghosts.
 *
 * The box is divided as RAMSES's `ordering=bisection` does when it starts: a wall across x parts the
 * processes in two halves, then one across y in each, then z, and x again. A grid belongs to the process in
 * whose domain its centre lies. On each level a process holds the grids that its domain touches and one more
 * layer around them (the box is periodic). With p_d domains along an axis of e = 2^(l-1) grids that are
 *   min(e, max(1, e / p_d) + 2)
 * along it, which is the size model of the dumps that IDRIS printed; besides, it has 26 more grids of each
 * process on the finest full level. Here those are of the second layer (at most half of its thinnest side),
 * and where the processes are a power of two, partners (2k, 2k + 1) trade them: so processes differ.
 * Everything follows from (level, owner), so that any process of any machine can be asked.
 * Levels count from 0 here. */
#ifndef IOGAUGE_RAMSES_LEVELS_H
#define IOGAUGE_RAMSES_LEVELS_H

#include "base/layout.h"

#define RAMSES_LEVELS 16 /* the most, with refined ones */
/* Of a level that one process holds: blocks of grids of other processes and its own, and pieces, of which a
 * block may have three. At most 64 were found (unit_ramses.c tries). */
#define RAMSES_BLOCKS 72
#define RAMSES_PIECES 128

/* A process's part of the box, in grids of the finest full level; `to` is behind it. */
typedef struct {
    uint64_t from[3], to[3];
} ramses_box;

/* Places along an axis, rising: one range, or two where the box's border lies between. */
typedef struct {
    uint64_t from[2], to[2];
} ramses_span;

/* Grids of one process's level that belong to the same process: all places of three spans, x fastest. */
typedef struct {
    uint64_t cpu, first, count; /* first: its place among the process's grids of the level */
    ramses_span along[3];
} ramses_piece;

/* One process's grids of a level: pieces in the order of the processes to which they belong. */
typedef struct {
    bool made;
    uint64_t owner, edge, below, count; /* edge: of the box, in grids; below: grids of the levels before */
    int n;
    ramses_piece of[RAMSES_PIECES];
} ramses_view;

/* All of a view's pieces of one process: what RAMSES writes as one block. */
typedef struct {
    uint64_t cpu, first, count;
} ramses_block;

typedef struct {
    uint64_t processes;
    int base, levels;             /* levels that fill the box; all levels */
    uint64_t most_on_level, most; /* grids of any process: on one level, and in all */
    struct {
        uint64_t all, least, most; /* grids that processes own, without ghosts */
    } owned[RAMSES_LEVELS];
    uint64_t stride, *before; /* grids of the processes before each `stride`th, level after level */
    ramses_view *views;       /* one for each level: what was asked for last */
} ramses_levels;

/* -1 if there is no memory. */
int ramses_levels_set(ramses_levels *l, int base, int refined, uint64_t processes);
void ramses_levels_release(ramses_levels *l);

ramses_box ramses_domain(const ramses_levels *l, uint64_t owner);
/* The part of a domain that a level fills, in that level's grids: all of it, or where it is refined. */
ramses_box ramses_part_of(const ramses_levels *l, int level, uint64_t owner);
/* Whose a grid of a full level is, and in `part` all grids of that process's. */
uint64_t ramses_cpu_at(const ramses_levels *l, int level, const uint64_t at[3], ramses_box *part);
/* Where the wall stands that parts `n` processes along an axis. */
uint64_t ramses_wall(const ramses_box *box, int axis, uint64_t n);

uint64_t ramses_grids(const ramses_levels *l, int level, uint64_t owner);
uint64_t ramses_all_grids(const ramses_levels *l, uint64_t owner);
/* Of the processes before `owner`, on one level; with owner == processes, of all. */
uint64_t ramses_grids_before(const ramses_levels *l, int level, uint64_t owner);

const ramses_view *ramses_view_of(const ramses_levels *l, int level, uint64_t owner);
int ramses_blocks(const ramses_view *view, ramses_block *blocks);

uint64_t ramses_span_length(const ramses_span *span);

#endif
