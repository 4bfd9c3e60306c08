/* SPDX-License-Identifier: BSD-3-Clause */
#include "patterns/ramses_levels.h"

/* Grids that the model has besides those of the levels; they are ghosts on the finest full level. */
#define BESIDES 26

/* Up to here a level is coarse: a process may have none of it, and its partner twice the average. */
#define COARSE 27

/* One process in so many has refined grids. */
#define REFINED_EVERY 4

static uint64_t model(const ramses_levels *l, int level) {
    uint64_t edge = (uint64_t)1 << level, grids = 1;
    for (int d = 0; d < 3; d++) {
        uint64_t own = (edge + l->process_grid[d] - 1) / l->process_grid[d]; /* e / p_d, at least 1 */
        grids *= own + 2 < edge ? own + 2 : edge;
    }
    return grids;
}

/* No load balance is perfect: partners (2k, 2k + 1) trade grids, so that sums stay as they are. What the
 * even one gets more than the average; the odd one gets so many less. */
static int64_t surplus(const ramses_levels *l, int level, uint64_t even) {
    uint64_t each = l->each[level], most = each <= COARSE ? each : each / 16;
    uint64_t x = (even + 1) * 0x9E3779B97F4A7C15u + (uint64_t)(level + 1) * 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 29;
    int64_t traded = (int64_t)((x >> 8) % (most + 1));
    return x & 1 ? traded : -traded;
}

uint64_t ramses_grids(const ramses_levels *l, int level, uint64_t owner) {
    if (level >= l->base) return owner % REFINED_EVERY ? 0 : l->each[level];
    uint64_t even = owner & ~(uint64_t)1;
    if (even + 1 >= l->processes) return l->each[level];
    int64_t more = surplus(l, level, even);
    return l->each[level] + (uint64_t)(owner == even ? more : -more);
}

uint64_t ramses_all_grids(const ramses_levels *l, uint64_t owner) {
    uint64_t sum = 0;
    for (int i = 0; i < l->levels; i++) sum += ramses_grids(l, i, owner);
    return sum;
}

uint64_t ramses_grids_before(const ramses_levels *l, int level, uint64_t owner) {
    if (level >= l->base) return (owner + REFINED_EVERY - 1) / REFINED_EVERY * l->each[level];
    uint64_t sum = owner * l->each[level];
    bool partner_counted = owner & 1 && owner < l->processes;
    return partner_counted ? sum + (uint64_t)surplus(l, level, owner - 1) : sum;
}

int ramses_cpus(const ramses_levels *l) {
    return l->processes <= RAMSES_NEIGHBOURS ? (int)l->processes : RAMSES_NEIGHBOURS + 1;
}

/* Neighbours are the next ranks, and after the last one the first. */
uint64_t ramses_cpu(const ramses_levels *l, uint64_t owner, int index) {
    uint64_t end = owner + (uint64_t)ramses_cpus(l);
    uint64_t wrapped = end > l->processes ? end - l->processes : 0, i = (uint64_t)index;
    return i < wrapped ? i : owner + i - wrapped;
}

/* Of a level that fills the box each process owns an equal share of 8^level octs; of a refined one, three
 * quarters of what it holds. A single process has no ghosts. */
static uint64_t owned(const ramses_levels *l, int level, uint64_t owner, uint64_t grids) {
    uint64_t start, share = grids - grids / 4;
    if (l->processes == 1) return grids;
    if (level < l->base) io_split((uint64_t)1 << (3 * level), l->processes, owner, &start, &share);
    return share < grids ? share : grids;
}

uint64_t ramses_grids_of(const ramses_levels *l, int level, uint64_t owner, uint64_t cpu) {
    uint64_t distance = (cpu + l->processes - owner) % l->processes;
    uint64_t neighbours = (uint64_t)ramses_cpus(l) - 1, start, share;
    uint64_t grids = ramses_grids(l, level, owner), own = owned(l, level, owner, grids);
    if (!distance) return own;
    if (distance > neighbours) return 0;
    io_split(grids - own, neighbours, distance - 1, &start, &share);
    return share;
}

void ramses_levels_set(ramses_levels *l, int base, int refined, uint64_t processes) {
    *l = (ramses_levels){.processes = processes, .base = base, .levels = base + refined};
    io_process_grid(processes, l->process_grid);
    for (int i = 0; i < base; i++) l->each[i] = model(l, i);
    l->each[base - 1] += BESIDES;
    for (int i = base; i < l->levels; i++) l->each[i] = (l->each[base - 1] >> (i - base + 2)) + 1;
    for (uint64_t owner = 0; owner < processes; owner++) {
        uint64_t all = 0;
        for (int i = 0; i < l->levels; i++) {
            uint64_t grids = ramses_grids(l, i, owner), own = owned(l, i, owner, grids);
            if (grids > l->most_on_level) l->most_on_level = grids;
            if (own > l->owned[i].most) l->owned[i].most = own;
            if (!owner || own < l->owned[i].least) l->owned[i].least = own;
            l->owned[i].all += own;
            all += grids;
        }
        if (all > l->most) l->most = all;
    }
}
