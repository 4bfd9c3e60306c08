/* SPDX-License-Identifier: BSD-3-Clause */
/* ramses-hydro: the gas of a RAMSES dump: 320 bytes per grid in five structures of eight cells. */
#include "patterns/ramses.h"

extern const io_pattern io_pattern_ramses_hydro;

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static const ramses_table common[] = {
    {"header_int", RAMSES_INTS,    0, 5},
    {"gamma",      RAMSES_DOUBLES, 0, 1},
};
static const ramses_table each[] = {
    {"numbl", RAMSES_NUMBL, 0, 0},
    {"numbb", RAMSES_NUMBB, 0, 0},
};
/* One record each. */
static const ramses_table own[] = {
    {"ncpu",      RAMSES_INTS,    0, 1},
    {"nvar",      RAMSES_INTS,    1, 1},
    {"ndim",      RAMSES_INTS,    2, 1},
    {"nlevelmax", RAMSES_INTS,    3, 1},
    {"nboundary", RAMSES_INTS,    4, 1},
    {"gamma",     RAMSES_DOUBLES, 0, 1},
};
static const ramses_structure structures[RAMSES_NVAR] = {
    {"density",    IO_FLOAT64, RAMSES_CELLS},
    {"velocity_x", IO_FLOAT64, RAMSES_CELLS},
    {"velocity_y", IO_FLOAT64, RAMSES_CELLS},
    {"velocity_z", IO_FLOAT64, RAMSES_CELLS},
    {"pressure",   IO_FLOAT64, RAMSES_CELLS},
};

static void scalars(const ramses_levels *l, uint64_t owner, uint64_t step, int32_t *ints, double *doubles) {
    (void)owner, (void)step;
    const int32_t int_values[] = {(int32_t)l->processes, RAMSES_NVAR, RAMSES_NDIM, l->levels, 0};
    for (int i = 0; i < COUNT(int_values); i++) ints[i] = int_values[i];
    doubles[0] = 1.4;
}

static const ramses_kind kind = {
    .name = "hydro",
    .common = common,
    .ncommon = COUNT(common),
    .each = each,
    .neach = COUNT(each),
    .own = own,
    .nown = COUNT(own),
    .structures = structures,
    .nstructures = COUNT(structures),
    .cell_major = true,
    .counted = true,
    .gas = true,
    .scalars = scalars,
};

static void defaults(void *state) { ramses_defaults(state, &kind); }

const io_pattern io_pattern_ramses_hydro = {
    .name = "ramses-hydro",
    .summary = "RAMSES gas: headers, tables, and 40 components of the grids of each level",
    .defaults = defaults,
    RAMSES_PATTERN,
};
