/* SPDX-License-Identifier: BSD-3-Clause */
/* The grids (octs) of the mesh that each process of a RAMSES run holds on each level, its own and ghosts.
 *
 * The box is divided as by RAMSES's `ordering=bisection` at the start of a run: a wall across x splits the
 * processes in two halves, then one across y splits each half, then z, and x again. A grid belongs to the
 * process whose domain contains its center. On each level a process holds the grids that its domain touches
 * and one layer around them (the box is periodic). With p_d domains along an axis of e = 2^(l-1) grids, these
 * are
 *   min(e, max(1, e / p_d) + 2)
 * along it, which is the size model of the dumps documented by IDRIS; that model also has 26 additional grids
 * per process on the finest full level. Here those come from the second layer (at most half of its thinnest
 * side), and if the number of processes is a power of two, partners (2k, 2k + 1) exchange them, so that
 * processes differ. Everything is computed from (level, owner), for any process of a machine of any size.
 * Levels count from 0 here. */
#ifndef IOGAUGE_RAMSES_LEVELS_H
#define IOGAUGE_RAMSES_LEVELS_H

#include "base/layout.h"

#define RAMSES_LEVELS 16 /* maximum, with refined ones */
/* Limits for a level of one process: blocks of grids of other processes and its own, and pieces, of which a
 * block may have three. At most 64 were found (unit_ramses.c searches). */
#define RAMSES_BLOCKS 72
#define RAMSES_PIECES 128

/* A process's part of the box, in grids of the finest full level; `to` is exclusive. */
typedef struct {
    uint64_t from[3], to[3];
} ramses_box;

/* Increasing positions along an axis: one range, or two if they cross the border of the box. */
typedef struct {
    uint64_t from[2], to[2];
} ramses_span;

/* Grids of a process's level that one process owns: the product of three spans, x fastest. */
typedef struct {
    uint64_t cpu, first, count; /* first: its index among the process's grids of the level */
    ramses_span along[3];
} ramses_piece;

/* A process's grids of a level: pieces ordered by their owners. */
typedef struct {
    bool made;
    uint64_t owner, edge, below, count; /* edge: of the box, in grids; below: grids of the coarser levels */
    int n;
    ramses_piece of[RAMSES_PIECES];
} ramses_view;

/* All pieces of a view with one owner: what RAMSES writes as one block. */
typedef struct {
    uint64_t cpu, first, count;
} ramses_block;

typedef struct {
    uint64_t processes;
    int base, levels;             /* levels that fill the box; all levels */
    uint64_t most_on_level, most; /* maximum grids of a process: on one level, and in total */
    struct {
        uint64_t all, least, most; /* grids owned by processes, without ghosts */
    } owned[RAMSES_LEVELS];
    uint64_t stride, *before; /* grids of the processes before each `stride`th, level after level */
    ramses_view *views;       /* per level: the last one requested */
} ramses_levels;

/* -1 if out of memory */
int ramses_levels_set(ramses_levels *l, int base, int refined, uint64_t processes);
void ramses_levels_release(ramses_levels *l);

ramses_box ramses_domain(const ramses_levels *l, uint64_t owner);
/* The part of a domain that a level fills, in that level's grids: all of it, or the refined part. */
ramses_box ramses_part_of(const ramses_levels *l, int level, uint64_t owner);
/* The owner of a grid of a full level, and in `part` all grids of that owner. */
uint64_t ramses_cpu_at(const ramses_levels *l, int level, const uint64_t at[3], ramses_box *part);
/* The position of the wall that splits `n` processes along an axis. */
uint64_t ramses_wall(const ramses_box *box, int axis, uint64_t n);

uint64_t ramses_grids(const ramses_levels *l, int level, uint64_t owner);
uint64_t ramses_all_grids(const ramses_levels *l, uint64_t owner);
/* Grids of the processes before `owner`, on one level; with owner == processes, of all. */
uint64_t ramses_grids_before(const ramses_levels *l, int level, uint64_t owner);

const ramses_view *ramses_view_of(const ramses_levels *l, int level, uint64_t owner);
int ramses_blocks(const ramses_view *view, ramses_block *blocks);

uint64_t ramses_span_length(const ramses_span *span);

#endif
