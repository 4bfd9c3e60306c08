/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/servers.h"

#include "base/clock.h"
#include "driver/pulse.h"
#include "driver/times.h"
#include "driver/values.h"
#include "method_roles.h"

bool io_is_server(int rank, int size, int servers) {
    for (long i = 1; i <= servers; i++)
        if (rank == (i * size + servers - 1) / servers - 1) return true;
    return false;
}

void io_compute(const io_session *s) {
    double end = io_monotonic_seconds() + s->what->compute_seconds;
    volatile uint64_t sum = 0;
    if (s->what->compute_seconds <= 0) return;
    for (uint64_t i = 0; io_monotonic_seconds() < end; i += 4096) {
        io_now_at(s->world, IO_AT_COMPUTE);
        for (uint64_t k = i; k < i + 4096; k++) sum += io_value(s->what->seed, IO_FLOAT64, 0, k);
    }
}

/* Reduces drain, move and the counters of the busiest server. */
static void reduce(io_session *s, const io_seconds *mine, const io_queue_use *use, io_sample *sample) {
    double seconds[] = {use->busy, use->blocked};
    uint64_t bytes[] = {use->peak, use->limit, use->rss};
    IO_MPI(s->world, MPI_Allreduce, MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, s->world->comm);
    IO_MPI(s->world, MPI_Allreduce, MPI_IN_PLACE, bytes, 3, MPI_UINT64_T, MPI_MAX, s->world->comm);
    io_add_times(s, sample, mine, IO_WRITING);
    sample->queue = (io_queue_use){seconds[0], seconds[1], bytes[0], bytes[1], bytes[2]};
}

/* Times one of its calls, on all clients. */
static int phase(io_session *s, io_phase which, io_place place, io_queue_use *use, io_seconds *mine) {
    const io_method *m = s->what->method;
    io_ctx ctx = io_context(s->what, s->world, s->info[IO_WRITING]);
    io_world_doing(s->world, io_phases[which].name, m->name, s->what->common.dir);
    IO_MPI(s->world, MPI_Barrier, s->world->comm);
    io_now_at(s->world, place);
    mine->begin[which] = io_wall_clock(s->world);
    double began = io_monotonic_seconds();
    mine->begun[which] = io_monotonic_seconds();
    which == IO_PHASE_DRAIN ? m->servers->drain(&ctx, use) : m->servers->move(&ctx);
    mine->ended[which] = io_monotonic_seconds();
    mine->phase[which] = io_monotonic_seconds() - began;
    mine->end[which] = io_wall_clock(s->world);
    io_world_done(s->world);
    return io_agree(s->world);
}

void io_undo_moves(const io_session *s) {
    io_ctx ctx = io_context(s->what, s->world, s->info[IO_WRITING]);
    if (!s->unmoved) return;
    io_now_at(s->world, IO_AT_REMOVE);
    s->what->method->servers->undo(&ctx);
}

int io_drain(io_session *s, io_sample *sample) {
    const io_method *m = s->what->method;
    io_queue_use use = {0};
    io_seconds mine = {0};
    double wall = 0;
    if (m->servers && phase(s, IO_PHASE_DRAIN, IO_AT_DRAIN, &use, &mine)) return -1;
    if (io_has_phase(m, IO_PHASE_MOVE) && phase(s, IO_PHASE_MOVE, IO_AT_MOVE, &use, &mine)) return -1;
    s->unmoved = false;
    if (m->servers) reduce(s, &mine, &use, sample);
    double since = io_monotonic_seconds() - s->began;
    IO_MPI(s->world, MPI_Allreduce, &since, &wall, 1, MPI_DOUBLE, MPI_MAX, s->world->comm);
    sample->between = wall > sample->seconds[IO_WRITING] ? wall - sample->seconds[IO_WRITING] : 0;
    return 0;
}
