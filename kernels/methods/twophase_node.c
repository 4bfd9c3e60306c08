/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a node: their window, the aggregators, and waiting for each other. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "methods/twophase.h"

#define PAGE 4096
/* How often a process yields before it sleeps; the duration of that from which the node counts as
 * oversubscribed by other jobs; and for how many waits the process then sleeps without yielding. */
enum { YIELDS = 500, OVERSUBSCRIBED_WAITS = 50 };
#define LONG_YIELD 2e-3 /* seconds */

static uint64_t pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* Returns from the function if the call fails. */
#define TRY(FILE, ...) IO_TRY_MPI((FILE)->posix.base.ctx->error, (FILE)->posix.base.path, __VA_ARGS__)

static int failed(const twophase_file *f, const char *call, int code) {
    return io_fail_mpi(f->posix.base.ctx->error, call, f->posix.base.path, code);
}

static int split(twophase_file *f) {
    const io_ctx *ctx = f->posix.base.ctx;
    uint64_t share = f->options->share;
    MPI_Comm node_comm;
    int rank;
    TRY(f, MPI_Comm_split_type, ctx->comm, MPI_COMM_TYPE_SHARED, ctx->rank, MPI_INFO_NULL, &node_comm);
    f->node = node_comm;
    TRY(f, MPI_Comm_rank, node_comm, &rank);
    if (share) {
        TRY(f, MPI_Comm_split, node_comm, (int)((uint64_t)rank / share), rank, &f->node);
        TRY(f, MPI_Comm_free, &node_comm);
    }
    TRY(f, MPI_Comm_set_errhandler, f->node, MPI_ERRORS_RETURN);
    TRY(f, MPI_Comm_size, f->node, &f->node_size);
    return 0;
}

static bool aggregates(const twophase_file *f, int node_rank) {
    return !f->options->aggregators || (uint64_t)node_rank < f->options->aggregators;
}

/* Finds the processes that share a window with this one, and the aggregators, in rank order. */
static int find_aggregators(twophase_file *f) {
    const io_ctx *ctx = f->posix.base.ctx;
    int rank, facts[2] = {ctx->rank, 0};
    TRY(f, MPI_Comm_rank, f->node, &rank);
    TRY(f, MPI_Bcast, facts, 1, MPI_INT, 0, f->node);
    facts[1] = aggregates(f, rank);
    int code = 0, mine = facts[0], *all = malloc((size_t)ctx->size * sizeof facts);
    f->on_node = malloc((size_t)ctx->size * sizeof *f->on_node);
    f->aggregators = calloc((size_t)ctx->size, sizeof *f->aggregators);
    f->requests = malloc((size_t)ctx->size * sizeof(MPI_Request));
    f->statuses = malloc(((size_t)ctx->size + TWOPHASE_ROUNDS) * sizeof *f->statuses);
    bool room = all && f->on_node && f->aggregators && f->requests && f->statuses;
    if (room) code = MPI_Allgather(facts, 2, MPI_INT, all, 2, MPI_INT, ctx->comm);
    f->mine = -1;
    for (int i = 0; room && !code && i < ctx->size; i++) {
        f->on_node[i] = all[2 * i] == mine;
        f->requests[i] = MPI_REQUEST_NULL;
        if (!all[2 * i + 1]) continue;
        if (i == ctx->rank) f->mine = f->naggregators;
        twophase_aggregator *a = &f->aggregators[f->naggregators++];
        a->rank = i;
        for (int k = 0; k < TWOPHASE_ROUNDS; k++) a->pending[k] = MPI_REQUEST_NULL;
    }
    free(all);
    f->single_node = f->node_size == ctx->size;
    if (!room) return io_fail(ctx->error, "out of memory for a list of %d processes", ctx->size);
    return code ? failed(f, "MPI_Allgather", code) : 0;
}

/* The first process's segment of the window begins with the board; an aggregator's continues with its queue
 * and buffers. */
static uint64_t own_bytes(const twophase_file *f, int node_rank) {
    uint64_t bytes = node_rank ? 0 : pages(sizeof(twophase_board));
    if (aggregates(f, node_rank)) bytes += pages(sizeof(twophase_queue)) + f->options->rounds * f->room;
    return bytes;
}

static int make_window(twophase_file *f, int node_rank) {
    MPI_Info info;
    const char *call = "MPI_Info_set";
    TRY(f, MPI_Info_create, &info);
    int code = MPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (!code)
        call = "MPI_Win_allocate_shared",
        code = MPI_Win_allocate_shared((MPI_Aint)own_bytes(f, node_rank), 1, info, f->node, &f->memory,
                                       &f->window);
    MPI_Info_free(&info);
    if (code) return failed(f, call, code);
    TRY(f, MPI_Win_set_errhandler, f->window, MPI_ERRORS_RETURN);
    return 0;
}

/* Where the segment of a process of this node begins. */
static int part_of(twophase_file *f, int node_rank, char **start) {
    MPI_Aint size;
    int unit;
    *start = f->memory;
    if (f->node_size == 1) return 0;
    int code = MPI_Win_shared_query(f->window, node_rank, &size, &unit, start);
    return code ? failed(f, "MPI_Win_shared_query", code) : 0;
}

static int find_parts(twophase_file *f) {
    int node_rank = 0, i = 0;
    char *start;
    if (part_of(f, 0, &start)) return -1;
    f->board = (twophase_board *)start;
    for (int rank = 0; rank < f->posix.base.ctx->size; rank++) {
        twophase_aggregator *a =
            i < f->naggregators && f->aggregators[i].rank == rank ? &f->aggregators[i++] : NULL;
        if (!f->on_node[rank]) continue;
        if (a && part_of(f, node_rank, &start)) return -1;
        if (a) {
            a->queue = (twophase_queue *)(start + (node_rank ? 0 : pages(sizeof(twophase_board))));
            a->buffers = (char *)a->queue + pages(sizeof(twophase_queue));
        }
        node_rank++;
    }
    return 0;
}

static int make_board(twophase_board *board) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t changed;
    if (pthread_mutexattr_init(&mutex) || pthread_condattr_init(&changed)) return -1;
    int code = pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    if (!code) code = pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
    if (!code) code = pthread_mutex_init(&board->mutex, &mutex);
    if (!code) code = pthread_cond_init(&board->changed, &changed);
    pthread_mutexattr_destroy(&mutex);
    pthread_condattr_destroy(&changed);
    board->events = 0;
    return code ? -1 : 0;
}

static int prepare(twophase_file *f, int node_rank) {
    const io_ctx *ctx = f->posix.base.ctx;
    if (find_parts(f)) return -1;
    if (f->mine >= 0) memset(f->aggregators[f->mine].queue, 0, sizeof(twophase_queue));
    if (!node_rank && make_board(f->board))
        return io_fail(ctx->error, "pthread_mutex_init: no process-shared mutex: %s", f->posix.base.path);
    if (f->single_node || f->mine < 0) return 0;
    f->messages = malloc(f->room);
    if (f->messages) return 0;
    return io_fail(ctx->error, "out of memory for a buffer of %llu bytes; use a smaller --buffer-size",
                   (unsigned long long)f->room);
}

int twophase_node_start(twophase_file *f) {
    int node_rank, code = 0;
    if (split(f) || find_aggregators(f)) return -1;
    TRY(f, MPI_Comm_rank, f->node, &node_rank);
    if (f->node_size > 1 && make_window(f, node_rank)) return -1;
    if (f->node_size == 1 && !(f->memory = aligned_alloc(PAGE, own_bytes(f, 0))))
        return io_fail(f->posix.base.ctx->error,
                       "out of memory for the buffers: %s; use a smaller --buffer-size", f->posix.base.path);
    int status = prepare(f, node_rank);
    code = MPI_Barrier(f->node);
    return code ? failed(f, "MPI_Barrier", code) : status;
}

int twophase_node_stop(twophase_file *f) {
    int code = 0;
    const char *call = "MPI_Barrier";
    if (f->node != MPI_COMM_NULL) code = MPI_Barrier(f->node); /* no process waits on the board any more */
    if (f->window != MPI_WIN_NULL && !code) call = "MPI_Win_free", code = MPI_Win_free(&f->window);
    if (f->node_size == 1) free(f->memory);
    if (f->node != MPI_COMM_NULL && !code) call = "MPI_Comm_free", code = MPI_Comm_free(&f->node);
    free(f->on_node);
    free(f->aggregators);
    free(f->requests);
    free(f->statuses);
    free(f->messages);
    return code ? failed(f, call, code) : 0;
}

void twophase_lock(twophase_file *f) { pthread_mutex_lock(&f->board->mutex); }

void twophase_unlock(twophase_file *f, bool change) {
    if (change) {
        atomic_fetch_add(&f->board->events, 1);
        pthread_cond_broadcast(&f->board->changed);
    }
    pthread_mutex_unlock(&f->board->mutex);
}

uint64_t twophase_events(twophase_file *f) { return atomic_load(&f->board->events); }

/* True once there was an event. Sleeping and waking take longer than most waits; if two processes share a
 * core, the one that yields lets the other run. With other jobs on the node it would be scheduled last. */
static bool yielded(twophase_file *f, uint64_t seen) {
    for (int i = 0; i < YIELDS && !f->oversubscribed; i++) {
        double began = io_monotonic_seconds();
        sched_yield();
        if (io_monotonic_seconds() - began > LONG_YIELD) f->oversubscribed = OVERSUBSCRIBED_WAITS;
        if (twophase_events(f) != seen) return true;
    }
    if (f->oversubscribed) f->oversubscribed--;
    return false;
}

void twophase_wait(twophase_file *f, uint64_t seen) {
    if (!f->single_node) { /* MPI must make progress meanwhile */
        sched_yield();
        return;
    }
    if (yielded(f, seen)) return;
    twophase_lock(f);
    while (twophase_events(f) == seen) pthread_cond_wait(&f->board->changed, &f->board->mutex);
    twophase_unlock(f, false);
}
