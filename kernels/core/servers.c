/* SPDX-License-Identifier: BSD-3-Clause */
#include "servers.h"

#include "hints.h"
#include "run.h"

bool io_is_server(int rank, int size, int servers) {
    for (long i = 1; i <= servers; i++)
        if (rank == (i * size + servers - 1) / servers - 1) return true;
    return false;
}

static io_ctx context_of(const io_run *run, io_world *world, MPI_Info info) {
    return (io_ctx){.comm = world->comm,
                    .rank = world->rank,
                    .size = world->size,
                    .mode = run->mode,
                    .hints = &run->hints,
                    .info = info,
                    .prefix = run->prefix,
                    .error = &world->error,
                    .state = run->method_state};
}

/* The world becomes that of this process's kind, and all are joined to the method; agreed on by all. */
static int part(io_run *run, io_world *world, bool *serving, MPI_Info *info) {
    io_world all = *world;
    MPI_Comm kind;
    *serving = io_is_server(world->rank, world->size, (int)run->method->servers);
    int code = MPI_Comm_split(world->comm, *serving, world->rank, &kind);
    if (code)
        io_fail_mpi(&all.error, "MPI_Comm_split", "servers and clients", code);
    else if (!io_world_narrow(world, kind) && !io_hints_info(&run->hints, info, &world->error)) {
        io_ctx ctx = context_of(run, world, *info);
        run->method->start(&ctx, all.comm, *serving);
    }
    if (world->error.set) all.error = world->error;
    if (!io_agree(&all)) return 0;
    io_world_complain(&all);
    return -1;
}

int io_run_with_servers(io_run *run, io_world *world, int (*run_all)(io_run *, io_world *)) {
    bool serving;
    MPI_Info info = MPI_INFO_NULL;
    if (!run->method->servers) return run_all(run, world);
    if (part(run, world, &serving, &info)) return 1;
    io_ctx ctx = context_of(run, world, info);
    int status;
    if (serving) {
        io_world_doing(world, "serve", run->method->name, run->dir);
        status = run->method->serve(&ctx);
        if (status) world->doing[0] = '\0'; /* the clients have said it all; a library left open may crash */
    } else {
        status = run_all(run, world);
        run->method->stop(&ctx, status, run->keep);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return status;
}

void io_compute(const io_session *s) {
    double end = MPI_Wtime() + s->what->compute_seconds;
    volatile uint64_t sum = 0;
    if (s->what->compute_seconds <= 0) return;
    for (uint64_t i = 0; MPI_Wtime() < end; i += 4096)
        for (uint64_t k = i; k < i + 4096; k++) sum += io_value(s->what->seed, IO_FLOAT64, k);
}

/* The phase, and the busiest server's counters. */
static void reduce(io_session *s, const io_seconds *mine, const io_queue_use *use, io_sample *sample) {
    double seconds[] = {use->busy, use->blocked};
    uint64_t bytes[] = {use->peak, use->limit, use->rss};
    MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, s->world->comm);
    MPI_Allreduce(MPI_IN_PLACE, bytes, 3, MPI_UINT64_T, MPI_MAX, s->world->comm);
    io_add_times(s, sample, mine, IO_WRITING);
    sample->queue = (io_queue_use){seconds[0], seconds[1], bytes[0], bytes[1], bytes[2]};
}

int io_drain(io_session *s, io_sample *sample) {
    const io_method *m = s->what->method;
    io_queue_use use = {0};
    double wall = 0;
    if (m->drain) {
        io_ctx ctx = {.comm = s->world->comm,
                      .rank = s->world->rank,
                      .size = s->world->size,
                      .error = &s->world->error,
                      .state = s->what->method_state};
        io_world_doing(s->world, "drain", m->name, s->what->dir);
        MPI_Barrier(s->world->comm);
        io_seconds mine = {.begin = {[IO_DRAIN] = io_wall_clock()}};
        double began = MPI_Wtime();
        m->drain(&ctx, &use);
        mine.phase[IO_DRAIN] = MPI_Wtime() - began;
        mine.end[IO_DRAIN] = io_wall_clock();
        if (io_agree(s->world)) return -1;
        reduce(s, &mine, &use, sample);
    }
    double mine = MPI_Wtime() - s->began;
    MPI_Allreduce(&mine, &wall, 1, MPI_DOUBLE, MPI_MAX, s->world->comm);
    sample->between = wall > sample->seconds[IO_WRITING] ? wall - sample->seconds[IO_WRITING] : 0;
    return 0;
}
