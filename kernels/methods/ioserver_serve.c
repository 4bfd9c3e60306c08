/* SPDX-License-Identifier: BSD-3-Clause */
/* The main loop of a server: receive while the queue has room and messages arrive, else write the first entry
 * of the queue, else move a file, else wait. It receives nothing during a call of the inner method, so pieces
 * are small. After a failure it tells all clients, and receives and drops what still arrives, so that no
 * client hangs. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "methods/ioserver.h"

/* A file announced by clients: shared, or owned by one client. Kept until they drain. */
typedef struct served {
    struct served *next;
    uint64_t number;
    int client, closes; /* client: the owner; -1: shared by all clients of this server */
    bool sync;
    void *packed; /* path and schema */
    io_schema schema;
    io_ctx ctx;
    io_file *file; /* NULL: closed */
    moving moving; /* with --local */
    bool moved;
} served;

/* A header whose data has no room in the queue yet. */
typedef struct waiting {
    struct waiting *next;
    header head;
    int client;
} waiting;

typedef struct {
    const io_ctx *ctx;
    ioserver *method;
    queue queue;
    served *files;
    waiting *first, **last;
    int drains, moves, undos, stops, status;
    char folder[IO_MAX_PATH]; /* with --local; "" before its first file */
    char *buffer;             /* of PIECE bytes */
    bool told, keep;
    bool all_moved;                             /* and the clients know: the next file begins a new list */
    news alarm, undone;                         /* being sent */
    double began, idle, blocked, blocked_since; /* began: 0 if nothing happened since the last drain */
} server;

/* Does not wait: a client may never receive it. */
static void tell(server *s, const news *n, int clients) {
    for (int i = 0; i < clients; i++) {
        MPI_Request request;
        int code =
            MPI_Isend(n, sizeof *n, MPI_BYTE, s->method->clients[i], NEWS_TAG, s->method->link, &request);
        if (!code) MPI_Request_free(&request);
    }
}

static int fail(server *s) {
    if (s->told) return -1;
    s->told = true;
    s->alarm = (news){.failed = true, .error = *s->ctx->error};
    tell(s, &s->alarm, s->method->nclients);
    return -1;
}

static served *find(server *s, const entry *e) {
    for (served *f = s->files; f; f = f->next)
        if (f->number == e->head.file && (f->client < 0 || f->client == e->client)) return f;
    io_fail(s->ctx->error, "process %d refers to file %llu, which was not created; this is a bug in iokernel",
            e->client, (unsigned long long)e->head.file);
    return NULL;
}

static bool own_files(const ioserver *m, const io_schema *schema) {
    return schema->file_per_process || m->inner->traits & IO_FILE_PER_PROCESS;
}

static void forget_files(server *s, bool remove) {
    while (s->files) {
        served *f = s->files;
        s->files = f->next;
        if (s->method->local && !f->moved)
            ioserver_moving_stop(&f->moving);
        else if (remove)
            unlink(f->packed);
        free(f->packed);
        free(f);
    }
    s->all_moved = false;
}

static int create(server *s, entry *e) {
    io_schema schema;
    served *f = NULL;
    if (s->all_moved) forget_files(s, false);
    ioserver_unpack(e->data, &schema);
    bool own = own_files(s->method, &schema);
    for (f = s->files; f && !own; f = f->next)
        if (f->number == e->head.file) return 0; /* another client was first */
    f = calloc(1, sizeof *f);
    if (!f) return io_fail(s->ctx->error, "out of memory for the handle of %s", (char *)e->data);
    *f = (served){
        .next = s->files,
        .number = e->head.file,
        .client = own ? e->client : -1,
        .packed = e->data,
        .schema = schema,
        .ctx = *s->ctx,
        .moving = {.in = -1, .out = -1}
    };
    e->data = NULL; /* now owned by the file */
    s->files = f;
    f->ctx.mode = IO_INDEPENDENT;
    f->ctx.state = s->method->inner_state;
    if (own) {
        f->ctx.comm = MPI_COMM_SELF;
        f->ctx.rank = 0;
        f->ctx.size = 1;
    }
    const char *path = f->packed;
    if (s->method->local) {
        if (!s->folder[0] && ioserver_make_folder(s->ctx, s->folder)) return -1;
        ioserver_moving_start(&f->moving, s->folder, f->number, f->client);
        path = f->moving.from;
    }
    return io_method_create(s->method->inner, &f->ctx, path, &f->schema, &f->file);
}

static int write_piece(server *s, entry *e) {
    served *f = find(s, e);
    if (!f) return -1;
    e->head.part.data = e->data;
    return s->method->inner->write(f->file, &e->head.part, 1);
}

/* Deferred until the file is closed: a client that is about to close would otherwise wait for a long call. */
static int sync_file(server *s, entry *e) {
    served *f = find(s, e);
    if (f) f->sync = true;
    return f ? 0 : -1;
}

/* The last client closes the file. */
static int close_file(server *s, entry *e) {
    const io_method *inner = s->method->inner;
    served *f = find(s, e);
    if (!f) return -1;
    if (++f->closes < (f->client < 0 ? s->method->nmine : 1)) return 0;
    if (f->sync && inner->sync(f->file)) return -1;
    io_file *file = f->file;
    f->file = NULL;
    return inner->close(file);
}

/* Moves a piece of the oldest closed file that is still on the node: 1, 0 if there is none, or -1. */
static int move_piece(server *s) {
    served *f = NULL;
    for (served *one = s->files; s->method->local && one; one = one->next)
        if (!one->file && !one->moved) f = one;
    if (!f) return 0;
    if (!s->buffer && !(s->buffer = malloc(PIECE)))
        return io_fail(s->ctx->error, "out of memory for a buffer of %llu bytes", (unsigned long long)PIECE);
    int more = ioserver_move(&f->moving, s->ctx, f->packed, f->sync, s->buffer);
    f->moved = !more;
    return more < 0 ? -1 : 1;
}

static int answer(server *s, news *n) {
    int code = 0;
    for (int i = 0; i < s->method->nmine && !code; i++)
        code = MPI_Send(n, sizeof *n, MPI_BYTE, s->method->clients[i], NEWS_TAG, s->method->link);
    return code ? io_fail_mpi(s->ctx->error, "MPI_Send", "a message to a client", code) : 0;
}

/* All files are closed. The main loop moves what is left of them. */
static int move_rest(server *s, entry *e) {
    (void)e;
    s->moves++;
    return 0;
}

/* Moves a piece: 1; 0 if there is none, which the clients hear if they all wait for it; or -1. The list
 * stays: another server may fail, and then the files go. */
static int move_on(server *s) {
    if (s->told || s->status) return 0;
    int more = move_piece(s);
    if (more || s->moves < s->method->nmine) return more;
    news n = {.use = {.limit = s->queue.limit}};
    s->moves = 0;
    s->all_moved = true;
    s->began = s->idle = s->blocked = 0;
    return answer(s, &n);
}

/* The run has failed: this server's files go, moved or not, before the clients remove the folders. */
static void undo(server *s) {
    s->told = true;
    s->undos = 0;
    forget_files(s, true);
    s->undone = (news){.undone = true};
    tell(s, &s->undone, s->method->nmine);
}

/* Everything is written: tells all clients of this server, and resets the counters. */
static int drain(server *s, entry *e) {
    (void)e;
    if (++s->drains < s->method->nmine) return 0;
    double wall = s->began ? io_monotonic_seconds() - s->began : 0;
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    news n = {
        .use = {wall - s->idle, s->blocked, s->queue.peak, s->queue.limit, (uint64_t)usage.ru_maxrss * 1024}
    };
    if (answer(s, &n)) return -1;
    if (!s->method->local) forget_files(s, false);
    s->drains = 0;
    s->queue.peak = 0;
    s->began = s->idle = s->blocked = 0;
    return 0;
}

static int (*const doing[])(server *, entry *) = {
    [REQUEST_CREATE] = create,    [REQUEST_WRITE] = write_piece, [REQUEST_SYNC] = sync_file,
    [REQUEST_CLOSE] = close_file, [REQUEST_DRAIN] = drain,       [REQUEST_MOVE] = move_rest,
};

static void do_first(server *s) {
    entry *e = s->queue.first;
    if (!s->told && doing[e->head.request](s, e)) fail(s);
    ioserver_queue_drop(&s->queue);
}

/* Receives the data of a header; false if the queue has no room. */
static bool receive_data(server *s, const header *head, int client) {
    entry *e;
    if (!ioserver_queue_add(&s->queue, head, client, &e)) return false;
    if (!e) {
        io_fail(s->ctx->error, "out of memory for a queue entry");
        fail(s);
    } else if (head->bytes) {
        int code = MPI_Recv(e->data, (int)head->bytes, MPI_BYTE, client, BYTES_TAG, s->method->link,
                            MPI_STATUS_IGNORE);
        if (code && !s->told) {
            io_fail_mpi(s->ctx->error, "MPI_Recv", "a client's data", code);
            fail(s);
        }
    }
    return true;
}

/* Admits waiting headers, oldest first. */
static bool admit(server *s) {
    bool some = false;
    while (s->first && receive_data(s, &s->first->head, s->first->client)) {
        waiting *done = s->first;
        s->first = done->next;
        if (!s->first) s->last = &s->first;
        free(done);
        some = true;
    }
    if (!s->first == !s->blocked_since) return some;
    double now = io_monotonic_seconds();
    if (!s->first) s->blocked += now - s->blocked_since;
    s->blocked_since = s->first ? now : 0;
    return some;
}

/* Nothing more will be received: the loop ends. The clients may never hear why, and still have files here. */
static bool is_cut_off(server *s, const char *call, int code) {
    if (!code) return false;
    bool told = s->ctx->error->set;
    io_fail_mpi(s->ctx->error, call, "a client's message", code);
    if (!told) io_print_error("%s", s->ctx->error->text);
    fail(s);
    s->status = -1;
    s->keep = true;
    s->stops = s->method->nmine;
    return true;
}

/* Receives one header, if there is one. */
static bool receive_header(server *s) {
    int there = 0;
    MPI_Status status;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, HEADER_TAG, s->method->link, &there, &status);
    if (is_cut_off(s, "MPI_Iprobe", code) || !there) return false;
    waiting *w = malloc(sizeof *w);
    if (!w) abort(); /* about 200 bytes: an error could not be reported either */
    *w = (waiting){.client = status.MPI_SOURCE};
    code = MPI_Recv(&w->head, sizeof w->head, MPI_BYTE, w->client, HEADER_TAG, s->method->link,
                    MPI_STATUS_IGNORE);
    if (is_cut_off(s, "MPI_Recv", code)) {
        free(w);
        return false;
    }
    if (!s->began) s->began = io_monotonic_seconds();
    if (w->head.request == REQUEST_STOP || w->head.request == REQUEST_UNDO) {
        w->head.request == REQUEST_STOP ? s->stops++ : s->undos++;
        s->status |= w->head.status;
        s->keep |= w->head.keep;
        free(w);
        return true;
    }
    *s->last = w;
    s->last = &w->next;
    return true;
}

/* Idle: polls, less and less often, until a message arrives. */
static void idle(server *s) {
    static const struct timespec little = {.tv_nsec = 20000};
    double began = io_monotonic_seconds();
    int there = 0;
    MPI_Status status;
    for (unsigned turn = 0; !there; turn++) {
        int code = MPI_Iprobe(MPI_ANY_SOURCE, HEADER_TAG, s->method->link, &there, &status);
        if (is_cut_off(s, "MPI_Iprobe", code)) break;
        if (!there && turn > 200) nanosleep(&little, NULL);
    }
    if (s->began) s->idle += io_monotonic_seconds() - began;
}

int ioserver_serve(const io_ctx *ctx) {
    ioserver *m = ctx->state;
    server s = {.ctx = ctx, .method = m};
    s.last = &s.first;
    if (ioserver_queue_start(&s.queue, m->limit)) {
        io_fail(ctx->error, "out of memory for a queue of %llu bytes; use a smaller --queue-limit",
                (unsigned long long)m->limit);
        fail(&s);
    }
    while (s.stops < m->nmine) {
        bool heard = false;
        while (receive_header(&s)) heard = true, admit(&s);
        if (s.undos == m->nmine) undo(&s);
        if (admit(&s) || heard) continue;
        if (s.queue.first) {
            do_first(&s);
            continue;
        }
        int moves = move_on(&s);
        if (moves < 0) fail(&s);
        if (!moves) idle(&s);
    }
    forget_files(&s, s.status && !s.keep && !s.all_moved); /* moved ones are the clients' */
    ioserver_queue_stop(&s.queue);
    if (s.folder[0]) rmdir(s.folder);
    free(s.buffer);
    return s.status;
}
