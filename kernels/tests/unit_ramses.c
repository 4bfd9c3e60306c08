/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares domains and ghosts of a RAMSES run with a search of the whole box, and checks the limits per
 * process for many process counts. */
#include "tests/unit.h"

#include <stdlib.h>

#include "patterns/ramses_levels.h"

#define BASE 4

static bool in_box(const ramses_box *box, const uint64_t at[3]) {
    for (int d = 0; d < 3; d++)
        if (at[d] < box->from[d] || at[d] >= box->to[d]) return false;
    return true;
}

/* How often a view has a position, and its owner. */
static int times_in(const ramses_view *v, const uint64_t at[3], uint64_t *cpu) {
    int times = 0;
    for (int i = 0; i < v->n; i++) {
        int axes = 0;
        for (int d = 0; d < 3; d++)
            for (int k = 0; k < 2; k++)
                axes += at[d] >= v->of[i].along[d].from[k] && at[d] < v->of[i].along[d].to[k];
        if (axes != 3) continue;
        times++;
        *cpu = v->of[i].cpu;
    }
    return times;
}

/* Does the domain touch the grid at `at` or one of its 26 neighbors? In grids of the finest level. */
static bool near_domain(const ramses_box *box, int level, const uint64_t at[3]) {
    int64_t size = 1 << (BASE - 1 - level), edge = 1 << (BASE - 1);
    for (int d = 0; d < 3; d++) {
        bool touches = false;
        for (int64_t turn = -edge; turn <= edge; turn += edge) {
            int64_t from = ((int64_t)at[d] - 1) * size + turn, to = ((int64_t)at[d] + 2) * size + turn;
            touches |= from < (int64_t)box->to[d] && to > (int64_t)box->from[d];
        }
        if (!touches) return false;
    }
    return true;
}

static void check_level(const ramses_levels *l, int level, uint64_t owner) {
    const ramses_view *v = ramses_view_of(l, level, owner);
    ramses_box domain = ramses_domain(l, owner), own = ramses_part_of(l, level, owner), part;
    uint64_t edge = (uint64_t)1 << level, more = 0, at[3], cpu = 0;
    bool some =
        domain.from[0] < domain.to[0] && domain.from[1] < domain.to[1] && domain.from[2] < domain.to[2];
    CHECK(v->count == ramses_grids(l, level, owner), "level %d of %" PRIu64, level, owner);
    for (at[2] = 0; at[2] < edge; at[2]++)
        for (at[1] = 0; at[1] < edge; at[1]++)
            for (at[0] = 0; at[0] < edge; at[0]++) {
                bool needed = some && near_domain(&domain, level, at);
                int times = times_in(v, at, &cpu);
                more += times && !needed;
                CHECK(times <= 1 && times >= needed, "process %" PRIu64 " has a grid %d times", owner, times);
                if (!times) continue;
                CHECK(ramses_cpu_at(l, level, at, &part) == cpu && in_box(&part, at), "cpu %" PRIu64, cpu);
                CHECK((cpu == owner) == in_box(&own, at), "grids of process %" PRIu64, owner);
            }
    CHECK(more <= (level == BASE - 1 ? 52 : 0), "%" PRIu64 " extra grids", more);
}

/* Refined grids have fathers, and fathers' neighbors, in their process's file. */
static void check_refined(const ramses_levels *l, int level, uint64_t owner) {
    ramses_box fine = ramses_part_of(l, level, owner), coarse = ramses_part_of(l, level - 1, owner);
    for (int d = 0; d < 3 && ramses_grids(l, level, owner); d++) {
        CHECK(fine.from[d] / 2 >= coarse.from[d] + (level == l->base), "refined before %" PRIu64,
              fine.from[d]);
        CHECK((fine.to[d] - 1) / 2 < coarse.to[d] - (level == l->base), "refined to %" PRIu64, fine.to[d]);
        CHECK((fine.from[d] - 1) / 2 >= coarse.from[d] && fine.to[d] / 2 < coarse.to[d],
              "no layer around it");
    }
}

void unit_ramses(void) {
    ramses_block blocks[RAMSES_PIECES];
    for (uint64_t processes = 1; processes <= 40; processes++) {
        ramses_levels l;
        CHECK(!ramses_levels_set(&l, BASE, 2, processes), "memory");
        for (int level = 0; level < l.levels; level++) {
            uint64_t sum = 0;
            for (uint64_t owner = 0; owner < processes; owner++) {
                CHECK(ramses_grids_before(&l, level, owner) == sum, "before process %" PRIu64, owner);
                sum += ramses_grids(&l, level, owner);
                if (level < BASE) check_level(&l, level, owner);
                if (level >= BASE) check_refined(&l, level, owner);
            }
            CHECK(ramses_grids_before(&l, level, processes) == sum, "in all");
            if (level < BASE)
                CHECK(l.owned[level].all == (uint64_t)1 << (3 * level), "owned, level %d", level);
        }
        ramses_levels_release(&l);
    }
    for (uint64_t processes = 1; processes < 3000; processes += 1 + processes / 9) {
        ramses_levels l;
        CHECK(!ramses_levels_set(&l, 6, 0, processes), "memory");
        for (int level = 0; level < l.levels; level++)
            for (uint64_t owner = 0; owner < processes; owner += 1 + processes / 40) {
                const ramses_view *v = ramses_view_of(&l, level, owner);
                CHECK(v->count == ramses_grids(&l, level, owner), "a view is cut: %" PRIu64, processes);
                CHECK(v->n < RAMSES_PIECES && ramses_blocks(v, blocks) <= RAMSES_BLOCKS, "%d pieces", v->n);
            }
        ramses_levels_release(&l);
    }
}
