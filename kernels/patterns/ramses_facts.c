/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers of a RAMSES dump say, and its text files. */
#include "patterns/ramses.h"

#include <inttypes.h>
#include <string.h>

#define ORDERING_LENGTH 128
#define NUMBTOT_LENGTH 10
#define NUMBB_LENGTH 100 /* RAMSES's MAXBOUND */

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
    case RAMSES_KEYS: return l->processes + 1;
    default: return (uint64_t)t->count;
    }
}

/* In a process's file its grids are numbered level after level, cpu after cpu, from 1 on. */
static void list_heads(const ramses_levels *l, uint64_t owner, ramses_source source, int32_t *out) {
    int32_t before = 0;
    memset(out, 0, l->processes * (uint64_t)l->levels * sizeof *out);
    for (int level = 0; level < l->levels; level++)
        for (int i = 0; i < ramses_cpus(l); i++) {
            uint64_t cpu = ramses_cpu(l, owner, i);
            int32_t n = (int32_t)ramses_grids_of(l, level, owner, cpu);
            int32_t value = source == RAMSES_NUMBL ? n : source == RAMSES_HEADL ? before + 1 : before + n;
            if (n) out[(uint64_t)level * l->processes + cpu] = value;
            before += n;
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

/* Of process `domain`'s first cell on the Hilbert curve through the finest full level. */
static double key(const ramses_levels *l, uint64_t domain) {
    double keys = (double)((uint64_t)1 << (3 * l->base));
    return keys * ((double)domain / (double)l->processes);
}

/* A file's float64 may stand in the middle of a word of memory. */
static void put(char *out, uint64_t index, double value) {
    memcpy(out + index * sizeof value, &value, sizeof value);
}

static void table_facts(const ramses *s, const ramses_table *t, uint64_t owner, uint64_t step, void *out) {
    const ramses_levels *l = &s->levels;
    int32_t ints[RAMSES_SCALARS];
    double doubles[RAMSES_SCALARS];
    s->kind->scalars(l, owner, step, ints, doubles);
    switch (t->source) {
    case RAMSES_INTS: memcpy(out, ints + t->first, (size_t)t->count * sizeof *ints); break;
    case RAMSES_DOUBLES: memcpy(out, doubles + t->first, (size_t)t->count * sizeof *doubles); break;
    case RAMSES_ORDERING:
        memset(out, ' ', ORDERING_LENGTH);
        memcpy(out, "hilbert", 7);
        break;
    case RAMSES_TIMES:
        for (int i = 0; i < l->levels; i++) put(out, (uint64_t)i, doubles[t->first]);
        break;
    case RAMSES_NUMBTOT: count_levels(l, out); break;
    case RAMSES_NUMBB: /* no such region (nboundary is 0); zeros could be lost and nobody would see it */
        memset(out, -1, ramses_table_length(l, t) * sizeof *ints);
        break;
    case RAMSES_KEYS:
        for (uint64_t i = 0; i <= l->processes; i++) put(out, i, key(l, i));
        break;
    default: list_heads(l, owner, t->source, out); break;
    }
}

void ramses_facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    const ramses *s = state;
    int32_t *pairs = out;
    if (s->tables[part->dataset]) {
        if (part->count[0]) table_facts(s, s->tables[part->dataset], owner, step, out);
        return;
    }
    for (uint64_t cpu = part->start[2]; cpu < part->start[2] + part->count[2]; cpu++) {
        *pairs++ = (int32_t)part->start[1] + 1;
        *pairs++ = (int32_t)ramses_grids_of(&s->levels, (int)part->start[1], owner, cpu);
    }
}

/* As output_info writes it. */
static void print_info(const ramses *s, uint64_t step, FILE *out) {
    const ramses_levels *l = &s->levels;
    const struct {
        const char *name;
        double value;
    } physics[] = {
        {"boxlen",  1                        },
        {"time",    0.01 * (double)(step + 1)},
        {"aexp",    1                        },
        {"H0",      1                        },
        {"omega_m", 1                        },
        {"omega_l", 0                        },
        {"omega_k", 0                        },
        {"omega_b", 0                        },
        {"unit_l",  1                        },
        {"unit_d",  1                        },
        {"unit_t",  1                        }
    };
    fprintf(out, "%-12s=%11" PRIu64 "\n%-12s=%11d\n%-12s=%11d\n%-12s=%11d\n", "ncpu", l->processes, "ndim",
            RAMSES_NDIM, "levelmin", l->base, "levelmax", l->levels);
    fprintf(out, "%-12s=%11" PRIu64 "\n%-12s=%11" PRIu64 "\n\n", "ngridmax", l->most, "nstep_coarse",
            step + 1);
    for (size_t i = 0; i < sizeof physics / sizeof *physics; i++)
        fprintf(out, "%-12s=%23.15E\n", physics[i].name, physics[i].value);
    fprintf(out, "\n%-13s=%-80s\n%9s%10s%24s\n", "ordering type", "hilbert", "DOMAIN", "ind_min", "ind_max");
    for (uint64_t i = 0; i < l->processes; i++)
        fprintf(out, "%8" PRIu64 " %23.15E %23.15E\n", i + 1, key(l, i), key(l, i + 1));
}

/* As output_header writes it: no particles. */
static void print_header(FILE *out) {
    const char *const kinds[] = {"", "dark matter ", "star ", "sink "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(out, " Total number of %sparticles\n%12d\n", kinds[i], 0);
}

bool ramses_text_file(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out) {
    static const char *const names[] = {"info", "header"};
    if (index > 1) return false;
    snprintf(name, size, "output_%05" PRIu64 "/%s_%05" PRIu64 ".txt", step + 1, names[index], step + 1);
    if (out && index == 0) print_info(state, step, out);
    if (out && index == 1) print_header(out);
    return true;
}
