/* SPDX-License-Identifier: BSD-3-Clause */
/* ramses-amr: the mesh of a RAMSES dump: 156 bytes per grid in eight structures. */
#include "patterns/ramses.h"

extern const io_pattern io_pattern_ramses_amr;

enum { NINTS = 14, NMEMORY = 8, NDOUBLES = 22 };

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static const ramses_table common[] = {
    {"header_int",   RAMSES_INTS,     0, NINTS   },
    {"header_float", RAMSES_DOUBLES,  0, NDOUBLES},
    {"numbtot",      RAMSES_NUMBTOT,  0, 0       },
    {"ordering",     RAMSES_ORDERING, 0, 0       },
};
static const ramses_table each[] = {
    {"memory", RAMSES_INTS,  NINTS, NMEMORY},
    {"headl",  RAMSES_HEADL, 0,     0      },
    {"taill",  RAMSES_TAILL, 0,     0      },
    {"numbl",  RAMSES_NUMBL, 0,     0      },
};
/* One record each. */
static const ramses_table own[] = {
    {"ncpu",          RAMSES_INTS,     0,         1},
    {"ndim",          RAMSES_INTS,     1,         1},
    {"nx_ny_nz",      RAMSES_INTS,     2,         3},
    {"nlevelmax",     RAMSES_INTS,     5,         1},
    {"ngridmax",      RAMSES_INTS,     6,         1},
    {"nboundary",     RAMSES_INTS,     7,         1},
    {"ngrid_current", RAMSES_INTS,     8,         1},
    {"boxlen",        RAMSES_DOUBLES,  0,         1},
    {"noutput",       RAMSES_INTS,     9,         3}, /* noutput, iout, ifout */
    {"tout",          RAMSES_DOUBLES,  1,         1},
    {"aout",          RAMSES_DOUBLES,  2,         1},
    {"t",             RAMSES_DOUBLES,  3,         1},
    {"dtold",         RAMSES_TIMES,    4,         0},
    {"dtnew",         RAMSES_TIMES,    5,         0},
    {"nstep",         RAMSES_INTS,     12,        2}, /* nstep, nstep_coarse */
    {"mass",          RAMSES_DOUBLES,  6,         3}, /* const, mass_tot_0, rho_tot */
    {"cosmology",     RAMSES_DOUBLES,  9,         7}, /* omega_m, _l, _k, _b, h0, aexp_ini, boxlen_ini */
    {"expansion",     RAMSES_DOUBLES,  16,        5}, /* aexp, hexp, aexp_old, epot_tot_int, epot_tot_old */
    {"mass_sph",      RAMSES_DOUBLES,  21,        1},
    {"headl",         RAMSES_HEADL,    0,         0},
    {"taill",         RAMSES_TAILL,    0,         0},
    {"numbl",         RAMSES_NUMBL,    0,         0},
    {"numbtot",       RAMSES_NUMBTOT,  0,         0},
    {"free_memory",   RAMSES_INTS,     NINTS,     5}, /* headf, tailf, numbf, used_mem, used_mem_tot */
    {"ordering",      RAMSES_ORDERING, 0,         0},
    {"bisec_wall",    RAMSES_WALLS,    0,         0},
    {"bisec_next",    RAMSES_NEXT,     0,         0},
    {"bisec_indx",    RAMSES_INDEX,    0,         0},
    {"cpubox_min",    RAMSES_BOX_MIN,  0,         0},
    {"cpubox_max",    RAMSES_BOX_MAX,  0,         0},
    {"coarse_son",    RAMSES_INTS,     NINTS + 5, 1},
    {"coarse_flag1",  RAMSES_INTS,     NINTS + 6, 1},
    {"coarse_cpu",    RAMSES_INTS,     NINTS + 7, 1},
};
static const ramses_structure structures[] = {
    {"ind_grid", IO_INT32,   1              }, /* written by RAMSES, but not in the shared files of 2011 */
    {"next",     IO_INT32,   1              },
    {"prev",     IO_INT32,   1              },
    {"xg",       IO_FLOAT64, RAMSES_NDIM    },
    {"father",   IO_INT32,   1              },
    {"nbor",     IO_INT32,   2 * RAMSES_NDIM},
    {"son",      IO_INT32,   RAMSES_CELLS   },
    {"cpu_map",  IO_INT32,   RAMSES_CELLS   },
    {"flag1",    IO_INT32,   RAMSES_CELLS   },
};

/* A unit box without cosmology, one requested dump, no boundaries. */
static void scalars(const ramses_levels *l, uint64_t owner, uint64_t step, int32_t *ints, double *doubles) {
    const uint64_t centre[3] = {0};
    ramses_box part;
    int32_t dump = (int32_t)step + 1, most = (int32_t)l->most, grids = (int32_t)ramses_all_grids(l, owner);
    const int32_t int_values[NINTS + NMEMORY] = {
        (int32_t)l->processes, RAMSES_NDIM, 1, 1, 1, l->levels, most, 0, grids, 1, dump, dump, dump, dump,
        /* Free memory begins after the grids; the only coarse cell has grid 1 as its son. */
        grids + 1, most, most - grids, grids, most, 1, 0, (int32_t)ramses_cpu_at(l, 0, centre, &part) + 1};
    const double time = ramses_time(step);
    const double double_values[NDOUBLES] = {1, 1, 1, time, 1e-4, 1e-4, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1};
    for (int i = 0; i < NINTS + NMEMORY; i++) ints[i] = int_values[i];
    for (int i = 0; i < NDOUBLES; i++) doubles[i] = double_values[i];
}

static const ramses_kind kind = {
    .name = "amr",
    .common = common,
    .ncommon = COUNT(common),
    .each = each,
    .neach = COUNT(each),
    .own = own,
    .nown = COUNT(own),
    .structures = structures,
    .nstructures = COUNT(structures),
    .own_only = 1,
    .scalars = scalars,
};

static void defaults(void *state) { ramses_defaults(state, &kind); }

const io_pattern io_pattern_ramses_amr = {
    .name = "ramses-amr",
    .summary = "RAMSES mesh: headers, tables, and 36 components of the grids of each level",
    .defaults = defaults,
    RAMSES_PATTERN,
};
