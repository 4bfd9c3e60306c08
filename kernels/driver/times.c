/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/times.h"

#include <string.h>

#include "base/clock.h"
#include "driver/evidence.h"

const io_phase_name io_phases[IO_PHASES] = {
    [IO_PHASE_CREATE] = {"create", IO_WRITING},
      [IO_PHASE_DEFINE] = {"define", IO_WRITING},
    [IO_PHASE_WRITE] = {"write",  IO_WRITING},
      [IO_PHASE_FLUSH] = {"flush",  IO_WRITING},
    [IO_PHASE_CLOSE] = {"close",  IO_WRITING},
      [IO_PHASE_DRAIN] = {"drain",  IO_WRITING},
    [IO_PHASE_MOVE] = {"move",   IO_WRITING},
      [IO_PHASE_OPEN] = {"open",   IO_READING},
    [IO_PHASE_READ_DEFINE] = {"define", IO_READING},
      [IO_PHASE_READ] = {"read",   IO_READING},
    [IO_PHASE_READ_CLOSE] = {"close",  IO_READING},
};

#define VALUES (sizeof(io_seconds) / sizeof(double))

static void add(io_time *to, double min, double max, double mean) {
    to->min += min;
    to->max += max;
    to->mean += mean;
}

double io_wall_clock(const io_world *world) { return world->epoch + io_monotonic_seconds(); }

/* `first`, `last`: over all processes. The phases of a direction are consecutive in io_phase. */
static void note_spans(const io_session *s, const io_seconds *first, const io_seconds *last, int direction) {
    if (!s->found) return;
    for (int p = 0; p <= IO_PHASES; p++) {
        if (first->begin[p] == 0 || (p < IO_PHASES && io_phases[p].direction != direction)) continue;
        s->found->spans[s->found->nspans++] =
            (io_span){s->repeat, direction, p < IO_PHASES ? io_phases[p].name : "series", first->begin[p],
                      last->end[p]};
    }
}

void io_add_times(const io_session *s, io_sample *sample, const io_seconds *mine, int direction) {
    const io_world *world = s->world;
    double values[VALUES], low[VALUES], high[VALUES], sum[VALUES];
    io_seconds min, max, all, own = *mine;
    own.phase[direction == IO_WRITING ? IO_PHASE_WRITE : IO_PHASE_READ] -= mine->waited;
    for (int i = 0; i < IO_MAX_STRETCHES; i++) own.stretch[i] -= mine->waited_in[i];
    memcpy(values, mine, sizeof *mine);
    IO_MPI(world, MPI_Allreduce, values, high, VALUES, MPI_DOUBLE, MPI_MAX, world->comm);
    memcpy(values, &own, sizeof own);
    IO_MPI(world, MPI_Allreduce, values, low, VALUES, MPI_DOUBLE, MPI_MIN, world->comm);
    IO_MPI(world, MPI_Allreduce, values, sum, VALUES, MPI_DOUBLE, MPI_SUM, world->comm);
    memcpy(&min, low, sizeof min);
    memcpy(&max, high, sizeof max);
    memcpy(&all, sum, sizeof all);
    note_spans(s, &min, &max, direction);
    sample->fill += max.fill;
    for (int p = 0; p < IO_PHASES; p++) {
        if (io_phases[p].direction != direction) continue;
        add(&sample->phase[p], min.phase[p], max.phase[p], all.phase[p] / world->size);
        sample->seconds[direction] += max.phase[p];
        sample->elapsed[p] += max.ended[p] - max.begun[p];
    }
    for (int i = 0; i < IO_MAX_STRETCHES; i++)
        add(&sample->stretch[direction][i], min.stretch[i], max.stretch[i], all.stretch[i] / world->size);
}
