/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "methods/ioserver.h"

#define DRAIN_TRIES 2000 /* milliseconds, approximately */
#define UNDO_TRIES 2000

#define TRY(CTX, ...) IO_TRY_MPI((CTX)->error, "messages to and from an I/O process", __VA_ARGS__)

/* Yields the core after a while: a server may need it. */
static void back_off(unsigned turn) {
    static const struct timespec little = {.tv_nsec = 20000};
    if (turn > 1000)
        nanosleep(&little, NULL);
    else if (turn % 16 == 15)
        sched_yield();
}

int ioserver_send_start(const io_ctx *ctx) {
    ioserver *s = ctx->state;
    for (int i = 0; i < SLOTS; i++) {
        s->slots[i].requests[0] = s->slots[i].requests[1] = MPI_REQUEST_NULL;
        if (!s->copy) continue;
        s->slots[i].copy = malloc(s->piece);
        if (!s->slots[i].copy)
            return io_fail(ctx->error, "out of memory for a copy of %llu bytes; use --send zero-copy",
                           (unsigned long long)s->piece);
        memset(s->slots[i].copy, 0, s->piece);
    }
    return 0;
}

/* After a failure, waits for pending sends, because their memory will be freed; but a server that hangs in a
 * library never receives them. */
static void drain_sends(ioserver *s) {
    static const struct timespec little = {.tv_nsec = 1000000};
    MPI_Status statuses[2];
    for (int i = 0, tries = 0; i < SLOTS && tries < DRAIN_TRIES; tries++) {
        int done = 0;
        if (MPI_Testall(2, s->slots[i].requests, &done, statuses)) return;
        if (done)
            i++;
        else
            nanosleep(&little, NULL);
    }
}

static int receive_news(const io_ctx *ctx, int from) {
    ioserver *s = ctx->state;
    news got, *n = &got;
    IO_TRY_MPI(ctx->error, "a message from an I/O process", MPI_Recv, n, sizeof *n, MPI_BYTE, from, NEWS_TAG,
               s->link, MPI_STATUS_IGNORE);
    if (!n->failed) {
        s->answered++;
        if (n->use.busy > s->use.busy) s->use.busy = n->use.busy;
        if (n->use.blocked > s->use.blocked) s->use.blocked = n->use.blocked;
        if (n->use.peak > s->use.peak) s->use.peak = n->use.peak;
        if (n->use.rss > s->use.rss) s->use.rss = n->use.rss;
        s->use.limit = n->use.limit;
        return 0;
    }
    if (!ctx->error->set) {
        *ctx->error = n->error;
        ctx->error->relayed = true;
        drain_sends(s);
    }
    return -1;
}

/* Receives messages from servers; -1 if a server has failed: then do not wait for it. */
static int poll_servers(const io_ctx *ctx) {
    ioserver *s = ctx->state;
    int there = 0;
    MPI_Status status;
    IO_TRY_MPI(ctx->error, "an I/O process", MPI_Iprobe, MPI_ANY_SOURCE, NEWS_TAG, s->link, &there, &status);
    return there ? receive_news(ctx, status.MPI_SOURCE) : 0;
}

static int wait_slot(const io_ctx *ctx, slot *s) {
    MPI_Status statuses[2];
    int done = 0;
    for (unsigned turn = 0; !done; turn++) {
        TRY(ctx, MPI_Testall, 2, s->requests, &done, statuses);
        if (done) break;
        if (poll_servers(ctx)) return -1;
        back_off(turn);
    }
    return 0;
}

int ioserver_wait_sent(const io_ctx *ctx) {
    ioserver *s = ctx->state;
    for (unsigned i = 0; i < SLOTS; i++)
        if (wait_slot(ctx, &s->slots[(s->next + i) % SLOTS])) return -1;
    return poll_servers(ctx);
}

/* Synchronous, because MPI would buffer small messages without a limit. */
int ioserver_send(const io_ctx *ctx, int server, const header *head, const void *bytes) {
    ioserver *s = ctx->state;
    slot *to = &s->slots[s->next++ % SLOTS];
    if (wait_slot(ctx, to)) return -1;
    to->head = *head;
    if (!head->bytes) {
        TRY(ctx, MPI_Issend, &to->head, sizeof to->head, MPI_BYTE, server, HEADER_TAG, s->link,
            &to->requests[0]);
        return 0;
    }
    TRY(ctx, MPI_Isend, &to->head, sizeof to->head, MPI_BYTE, server, HEADER_TAG, s->link, &to->requests[0]);
    bool copied = s->copy && head->request == REQUEST_WRITE;
    if (copied) memcpy(to->copy, bytes, head->bytes);
    TRY(ctx, MPI_Issend, copied ? to->copy : bytes, (int)head->bytes, MPI_BYTE, server, BYTES_TAG, s->link,
        &to->requests[1]);
    return 0;
}

int ioserver_wait_answers(const io_ctx *ctx, io_queue_use *use) {
    ioserver *s = ctx->state;
    for (unsigned turn = 0; s->answered < s->nmine; turn++) {
        if (poll_servers(ctx)) return -1;
        back_off(turn);
    }
    *use = s->use;
    s->use = (io_queue_use){0};
    s->answered = 0;
    return 0;
}

static int ask_to_undo(const io_ctx *ctx, int server, const header *head) {
    MPI_Request request;
    TRY(ctx, MPI_Isend, head, sizeof *head, MPI_BYTE, server, HEADER_TAG, ((ioserver *)ctx->state)->link,
        &request);
    MPI_Request_free(&request);
    return 0;
}

/* 1 if a server says that it has removed its files, 0 if none does yet. */
static int hear_of_undoing(const io_ctx *ctx) {
    const ioserver *s = ctx->state;
    news n;
    int there = 0;
    MPI_Status status;
    TRY(ctx, MPI_Iprobe, MPI_ANY_SOURCE, NEWS_TAG, s->link, &there, &status);
    if (!there) return 0;
    TRY(ctx, MPI_Recv, &n, sizeof n, MPI_BYTE, status.MPI_SOURCE, NEWS_TAG, s->link, &status);
    return n.undone;
}

void ioserver_undo(const io_ctx *ctx) {
    static const struct timespec little = {.tv_nsec = 1000000};
    ioserver *s = ctx->state;
    header *head = malloc(sizeof *head); /* not freed without answers: the send may never complete */
    int asked = 0, done = 0;
    if (!head) return;
    *head = (header){.request = REQUEST_UNDO};
    for (int i = 0; i < s->nmine; i++)
        if (!ask_to_undo(ctx, s->servers[i], head)) asked++;
    for (int tries = 0, more = 0; more >= 0 && done < asked && tries < UNDO_TRIES;) {
        more = hear_of_undoing(ctx);
        if (more > 0)
            done++;
        else
            tries++, nanosleep(&little, NULL);
    }
    if (done == s->nmine) free(head);
}
