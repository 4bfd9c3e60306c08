/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a data set to or from the file.
 *
 * Each process iterates over the chunks twice: for its share of each, and as the aggregator of some. It does
 * whatever can be done next, starting with work that others may wait for, and waits only if nothing can be
 * done. All take the chunks in the same order, so the first unfinished one can always continue. */
#include "methods/twophase.h"

enum { NOTHING, SOMETHING, FAILED = -1 };

static char *data_of(const twophase_exchange *w) { return w->parts->data; }

static int failed(const twophase_exchange *w, const char *call, int code) {
    return io_fail_mpi(w->file->posix.base.ctx->error, call, w->file->posix.base.path, code);
}

/* Have these messages completed? */
static int completed(const twophase_exchange *w, int n, MPI_Request *requests) {
    int done = 0, code = MPI_Testall(n, requests, &done, w->file->statuses);
    if (code) return failed(w, "MPI_Testall", code);
    return done ? SOMETHING : NOTHING;
}

typedef enum {
    FREE,  /* the chunk's buffer */
    READY, /* reading: the buffer holds the chunk */
    FULL,  /* writing: all processes of the node have copied their shares in */
} state;

static bool chunk_is(twophase_file *f, const twophase_aggregator *a, uint64_t number, state wanted) {
    const twophase_queue *q = a->queue;
    twophase_lock(f);
    bool is = wanted == FREE    ? number < q->done + f->options->rounds
              : wanted == READY ? number < q->ready
                                : q->arrived[number % f->options->rounds] == (uint64_t)f->node_size;
    twophase_unlock(f, false);
    return is;
}

/* ---------------------------------------------------------------- shares */

/* Sends a share to another node, or receives it, from or into the user's array. */
static int message(twophase_exchange *w, twophase_aggregator *a, uint64_t number, uint64_t first,
                   uint64_t end) {
    const io_ctx *ctx = w->file->posix.base.ctx;
    MPI_Request *request = &a->pending[number % w->file->options->rounds];
    uint64_t at, bytes = twophase_share(w, ctx->rank, first, end, &at);
    int found = completed(w, 1, request), code;
    if (found != SOMETHING || !bytes) return found;
    w->file->posix.base.calls++;
    if (w->writing)
        code = MPI_Isend(data_of(w) + at, (int)bytes, MPI_BYTE, a->rank, 0, ctx->comm, request);
    else
        code = MPI_Irecv(data_of(w) + at, (int)bytes, MPI_BYTE, a->rank, 0, ctx->comm, request);
    return code ? failed(w, w->writing ? "MPI_Isend" : "MPI_Irecv", code) : SOMETHING;
}

/* Copies this process's share of a chunk into the aggregator's buffer, or out of it. */
static int share(twophase_exchange *w) {
    twophase_file *f = w->file;
    uint64_t number, first, end, at;
    if (w->next == w->end) return NOTHING;
    twophase_aggregator *a = twophase_place(w, w->next, &number);
    twophase_chunk(w, w->next, &first, &end);
    if (!a->queue) {
        int found = message(w, a, number, first, end);
        w->next += found == SOMETHING;
        return found;
    }
    if (!chunk_is(f, a, number, w->writing ? FREE : READY)) return NOTHING;
    int rank = f->posix.base.ctx->rank;
    if (twophase_share(w, rank, first, end, &at))
        twophase_copy(w, rank, first, end, twophase_buffer(f, a, number), data_of(w) + at, w->writing);
    twophase_lock(f);
    uint64_t *arrived = &a->queue->arrived[number % f->options->rounds];
    bool all = ++*arrived == (uint64_t)f->node_size;
    if (all && !w->writing) {
        *arrived = 0;
        a->queue->done++;
    }
    twophase_unlock(f, all);
    w->next++;
    return SOMETHING;
}

/* ---------------------------------------------------------------- aggregators */

/* Starts the messages between an aggregator and the processes of other nodes, whose shares are stored one
 * after another. When writing they are received; when reading they are first copied out of the buffer. */
static int begin_messages(twophase_exchange *w, uint64_t first, uint64_t end, char *buffer) {
    twophase_file *f = w->file;
    const io_ctx *ctx = f->posix.base.ctx;
    uint64_t used = 0, at;
    int code = 0;
    for (int rank = 0; rank < ctx->size && !code; rank++) {
        uint64_t bytes = f->on_node[rank] ? 0 : twophase_share(w, rank, first, end, &at);
        if (!bytes) continue;
        char *mine = f->messages + used;
        used += bytes;
        if (used > f->room)
            return io_fail(ctx->error, "two processes move the same elements in one call: %s",
                           f->posix.base.path);
        f->posix.base.calls++;
        if (w->writing) {
            code = MPI_Irecv(mine, (int)bytes, MPI_BYTE, rank, 0, ctx->comm, &f->requests[rank]);
            continue;
        }
        twophase_copy(w, rank, first, end, buffer, mine, false);
        code = MPI_Isend(mine, (int)bytes, MPI_BYTE, rank, 0, ctx->comm, &f->requests[rank]);
    }
    return code ? failed(w, w->writing ? "MPI_Irecv" : "MPI_Isend", code) : 0;
}

static void unpack(twophase_exchange *w, uint64_t first, uint64_t end, char *buffer) {
    twophase_file *f = w->file;
    uint64_t used = 0, at;
    for (int rank = 0; rank < f->posix.base.ctx->size; rank++) {
        uint64_t bytes = f->on_node[rank] ? 0 : twophase_share(w, rank, first, end, &at);
        if (bytes) twophase_copy(w, rank, first, end, buffer, f->messages + used, true);
        used += bytes;
    }
}

static int write_own(twophase_exchange *w) {
    twophase_file *f = w->file;
    uint64_t number, first, end;
    if (w->own >= w->end) return NOTHING;
    twophase_aggregator *a = twophase_place(w, w->own, &number);
    char *buffer = twophase_buffer(f, a, number);
    twophase_chunk(w, w->own, &first, &end);
    if (!f->single_node) {
        if (!f->receiving && begin_messages(w, first, end, NULL)) return FAILED;
        f->receiving = true;
        int found = completed(w, f->posix.base.ctx->size, f->requests);
        if (found != SOMETHING) return found;
    }
    if (!chunk_is(f, a, number, FULL)) return NOTHING;
    if (!f->single_node) unpack(w, first, end, buffer);
    f->receiving = false;
    twophase_move_chunk(w, first, end, buffer);
    twophase_lock(f);
    a->queue->arrived[number % f->options->rounds] = 0;
    a->queue->done++;
    twophase_unlock(f, true);
    w->own += (uint64_t)f->naggregators;
    return SOMETHING;
}

static int read_own(twophase_exchange *w) {
    twophase_file *f = w->file;
    uint64_t number, first, end;
    if (w->own >= w->end) return NOTHING;
    twophase_aggregator *a = twophase_place(w, w->own, &number);
    char *buffer = twophase_buffer(f, a, number);
    if (!chunk_is(f, a, number, FREE)) return NOTHING;
    if (!f->single_node) {
        int found = completed(w, f->posix.base.ctx->size, f->requests);
        if (found != SOMETHING) return found;
    }
    twophase_chunk(w, w->own, &first, &end);
    twophase_move_chunk(w, first, end, buffer);
    if (!f->single_node && begin_messages(w, first, end, buffer)) return FAILED;
    twophase_lock(f);
    a->queue->ready++;
    twophase_unlock(f, true);
    w->own += (uint64_t)f->naggregators;
    return SOMETHING;
}

/* This process's first chunk. */
static void begin(twophase_exchange *w) {
    uint64_t number;
    w->own = w->end;
    if (w->file->mine < 0) return;
    for (w->own = w->first; w->own < w->end; w->own++)
        if (twophase_place(w, w->own, &number) == &w->file->aggregators[w->file->mine]) return;
}

/* Completes all messages; chunks of later data sets are counted from here. */
static int finish(twophase_exchange *w) {
    twophase_file *f = w->file;
    uint64_t all = (uint64_t)f->naggregators, number;
    int code = 0;
    for (uint64_t chunk = w->first; chunk < w->end && chunk < w->first + all; chunk++) {
        twophase_aggregator *a = twophase_place(w, chunk, &number);
        a->chunks += (w->end - chunk + all - 1) / all;
    }
    for (int i = 0; !f->single_node && i < f->naggregators && !code; i++)
        code = MPI_Waitall(TWOPHASE_ROUNDS, f->aggregators[i].pending, f->statuses);
    if (!code && !f->single_node && f->mine >= 0)
        code = MPI_Waitall(f->posix.base.ctx->size, f->requests, f->statuses);
    return code ? failed(w, "MPI_Waitall", code) : 0;
}

static int move(twophase_exchange *w, int (*before)(twophase_exchange *), int (*after)(twophase_exchange *)) {
    begin(w);
    while (w->next < w->end || w->own < w->end) {
        uint64_t seen = twophase_events(w->file);
        int found = before(w);
        if (found == NOTHING) found = after(w);
        if (found == FAILED) return -1;
        if (found == NOTHING) twophase_wait(w->file, seen);
    }
    return finish(w);
}

int twophase_exchange_write(twophase_exchange *w) { return move(w, share, write_own); }
int twophase_exchange_read(twophase_exchange *w) { return move(w, read_own, share); }
