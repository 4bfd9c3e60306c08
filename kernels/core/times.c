/* Times of processes, summed up over them. */
#include <string.h>

#include "driver.h"

#define VALUES (sizeof(io_seconds) / sizeof(double))

static void add(io_time *to, double min, double max, double mean) {
    to->min += min;
    to->max += max;
    to->mean += mean;
}

void io_add_times(io_sample *sample, const io_world *world, const io_seconds *mine, int direction) {
    double values[VALUES], low[VALUES], high[VALUES], sum[VALUES];
    io_seconds min, max, all;
    memcpy(values, mine, sizeof *mine);
    MPI_Allreduce(values, low, VALUES, MPI_DOUBLE, MPI_MIN, world->comm);
    MPI_Allreduce(values, high, VALUES, MPI_DOUBLE, MPI_MAX, world->comm);
    MPI_Allreduce(values, sum, VALUES, MPI_DOUBLE, MPI_SUM, world->comm);
    memcpy(&min, low, sizeof min);
    memcpy(&max, high, sizeof max);
    memcpy(&all, sum, sizeof all);
    sample->fill += max.fill;
    for (int p = 0; p < IO_PHASES; p++) {
        if (io_phases[p].direction != direction) continue;
        add(&sample->phase[p], min.phase[p], max.phase[p], all.phase[p] / world->size);
        sample->seconds[direction] += max.phase[p];
    }
    for (int i = 0; i < IO_MAX_STRETCHES; i++)
        add(&sample->stretch[direction][i], min.stretch[i], max.stretch[i], all.stretch[i] / world->size);
}
