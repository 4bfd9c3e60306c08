/* SPDX-License-Identifier: BSD-3-Clause */
/* How many grids (octs, owned and ghost) each process of a RAMSES run holds on each level.
 *
 * The size model, n = log2 of the problem size, e = 2^(l-1), P processes in a near-cubic grid p_d:
 *   grids = sum over l = 1..n of P * prod_d min(e, max(1, e / p_d) + 2), plus 26 P.
 * Everything is a closed form of (level, owner), so that any process of any machine can be asked.
 * Levels count from 0 here. */
#ifndef IOGAUGE_RAMSES_LEVELS_H
#define IOGAUGE_RAMSES_LEVELS_H

#include "base/layout.h"

#define RAMSES_LEVELS 16     /* the most, with refined ones */
#define RAMSES_NEIGHBOURS 26 /* the most processes whose grids a process has copies of */

typedef struct {
    uint64_t processes, process_grid[3];
    int base, levels; /* levels that fill the box; all levels */
    uint64_t
        each[RAMSES_LEVELS]; /* grids of a process on average; of those that have any, on refined levels */
    uint64_t most_on_level, most; /* grids of any process: on one level, and in all */
    struct {
        uint64_t all, least, most; /* grids that processes own, without ghosts */
    } owned[RAMSES_LEVELS];
} ramses_levels;

void ramses_levels_set(ramses_levels *l, int base, int refined, uint64_t processes);

uint64_t ramses_grids(const ramses_levels *l, int level, uint64_t owner);
uint64_t ramses_all_grids(const ramses_levels *l, uint64_t owner);
/* Of the processes before `owner`, on one level; with owner == processes, of all. */
uint64_t ramses_grids_before(const ramses_levels *l, int level, uint64_t owner);

/* The processes ("cpu" in RAMSES) whose grids can stand in a process's file: itself and its neighbours. */
int ramses_cpus(const ramses_levels *l);
uint64_t ramses_cpu(const ramses_levels *l, uint64_t owner, int index); /* in rising order */
/* Those of the owner's grids on a level that belong to `cpu`: its own, or ghosts of a neighbour. */
uint64_t ramses_grids_of(const ramses_levels *l, int level, uint64_t owner, uint64_t cpu);

#endif
