/* SPDX-License-Identifier: BSD-3-Clause */
/* ioserver: the application's processes send their data to reserved I/O processes, which queue it and write
 * it with another method while the application continues (PAIO: application-controlled parallel asynchronous
 * I/O, NASA-GSFC).
 *
 * Semantics of a client's calls:
 * - create: the servers know the file, and create it when they process the request;
 * - write: the application may reuse the array. Zero-copy: the servers have received it; copy: it is in a
 *   send buffer of the client;
 * - sync: the servers will make the file durable after writing all of it;
 * - close: all data has left the client, so that sending does not delay computing;
 * - drain: all files are closed, and durable if sync was called;
 * - move (--local): they are at their places, moved there from the nodes' folders.
 * A queue has a limit in bytes: a client whose data does not fit waits; nothing fails or grows. Clients
 * themselves read data back, from the inner method's files. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "methods/ioserver.h"

extern const io_method io_method_ioserver;

#define MIN_QUEUE 4096

enum { PROCESSES = 1, LIMIT, SEND, INNER, LOCAL };
static const io_option options[] = {
    {"io-processes", PROCESSES, "N", "number of I/O processes (default 1)"},
    {"queue-limit", LIMIT, "SIZE", "maximum size of each I/O process's queue (default 64m)"},
    {"send", SEND, "HOW", "copy (through a send buffer) or zero-copy (default)"},
    {"inner", INNER, "M", "method used by the I/O processes (default posix)"},
    {"local", LOCAL, "DIR", "write into a folder of the node, and move the files later (default: no)"},
    {0},
};

extern const io_method io_method_posix;

static void defaults(void *state) {
    *(ioserver *)state =
        (ioserver){.processes = 1, .limit = 64u << 20, .inner = &io_method_posix, .link = MPI_COMM_NULL};
}

static int set_send(ioserver *s, const char *value, io_error *error) {
    s->copy = !strcmp(value, "copy");
    if (s->copy || !strcmp(value, "zero-copy")) return 0;
    return io_fail_usage(error, "--send %s: expected copy or zero-copy", value);
}

static int option(void *state, int letter, const char *value, io_error *error) {
    ioserver *s = state;
    switch (letter) {
    case PROCESSES: return io_parse_count("--io-processes", value, &s->processes, error);
    case SEND: return set_send(s, value, error);
    case INNER: s->inner_name = value; return 0;
    case LOCAL: s->local = value; return 0;
    default: return io_parse_size("--queue-limit", value, &s->limit, error);
    }
}

static const io_server_functions moving_servers;
static int dataset_offset(io_file *file, int dataset, uint64_t *offset);
static int locate(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset);
static int hints(io_file *file, MPI_Info *used);

/* Servers receive bytes, in pieces that may end within an element. */
static int check_schema(const io_schema *schema, const io_choice *choice, io_error *error) {
    const ioserver *s = choice->state;
    const char *compound = io_first_compound(schema);
    io_choice inner = *choice;
    inner.state = s->inner_state;
    if (s->inner->check_schema && s->inner->check_schema(schema, &inner, error)) return -1;
    if (s->local && !(s->inner->traits & IO_FILE_PER_PROCESS))
        return io_fail_usage(error,
                             "--local: a node's folder can hold only a process's own files, but method %s "
                             "writes shared ones or folders; omit it, or use --inner posix",
                             s->inner->name);
    if (!compound || s->inner->traits & IO_JUST_DATA) return 0;
    return io_fail_usage(error,
                         "--inner %s: I/O processes forward plain bytes, and data set %s is a compound; use "
                         "--inner mpiio, or method %s",
                         s->inner->name, compound, s->inner->name);
}

static int find_inner(ioserver *s, io_method_lookup *find, io_error *error) {
    if (!s->inner_name) return 0;
    if (find(s->inner_name, &s->inner, error)) return -1;
    if (io_method_writes_independently(s->inner)) return 0;
    return io_fail_usage(error,
                         "--inner %s: I/O processes write independently, which "
                         "this method cannot do; use a method with mode independent, or a POSIX one",
                         s->inner_name);
}

static int configure(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error) {
    ioserver *s = state;
    if (find_inner(s, find, error) || io_method_state(s->inner, &s->inner_state, error)) return -1;
    if (s->processes >= processes)
        return io_fail_usage(error,
                             "--io-processes %llu of %llu processes leaves none to compute; use "
                             "at most %llu, or start more processes (mpiexec -n)",
                             (unsigned long long)s->processes, (unsigned long long)processes,
                             (unsigned long long)processes - 1);
    if (s->limit < MIN_QUEUE)
        return io_fail_usage(error, "--queue-limit %llu: expected at least %d bytes",
                             (unsigned long long)s->limit, MIN_QUEUE);
    s->piece = s->limit / 4 < PIECE ? s->limit / 4 : PIECE;
    s->mine = mine;
    if (s->local) mine->servers = &moving_servers;
    mine->traits = s->inner->traits & ~(unsigned)IO_WRITES_INDEPENDENTLY;
    mine->extension = s->inner->extension;
    mine->check_hint = s->inner->check_hint;
    mine->check_schema = check_schema;
    mine->hints = s->inner->hints ? hints : NULL;
    mine->locate = s->inner->locate ? locate : NULL;
    mine->dataset_offset = s->inner->dataset_offset ? dataset_offset : NULL;
    return 0;
}

static json_t *describe(const void *state) {
    const ioserver *s = state;
    return json_pack("{s:I,s:I,s:s,s:s,s:s*}", "io_processes", (json_int_t)s->processes, "queue_limit",
                     (json_int_t)s->limit, "send", s->copy ? "copy" : "zero-copy", "inner", s->inner->name,
                     "local", s->local);
}

static uint64_t count(const void *state) { return ((const ioserver *)state)->processes; }

static const io_method *backend(const void *state, void **own) {
    const ioserver *s = state;
    if (own) *own = s->inner_state;
    return s->inner;
}

/* Client c of C and server i of S are connected if their ranges of 0..1 overlap: with fewer servers than
 * clients each client has one server, with more each server has one client. */
static bool connected(int client, int clients, int server, int servers) {
    return servers <= clients ? (long)client * servers / clients == server
                              : (long)server * clients / servers == client;
}

/* `kinds`: for each rank in `all`, whether it is a server. */
static void join(ioserver *s, const int *kinds, int size, int rank, bool serving) {
    int servers = 0, clients = 0, mine = 0, c = 0, v = 0, others = 0;
    for (int i = 0; i < size; i++) kinds[i] ? servers++ : clients++;
    for (int i = 0; i < rank; i++) mine += kinds[i] == kinds[rank];
    s->nclients = clients;
    for (int i = 0; i < size; i++) {
        int number = kinds[i] ? v++ : c++;
        if (kinds[i] == (int)serving) continue;
        bool ours =
            serving ? connected(number, clients, mine, servers) : connected(mine, clients, number, servers);
        int *list = serving ? s->clients : s->servers;
        if (ours) list[s->nmine++] = i;
    }
    if (!serving) return;
    c = 0;
    for (int i = 0; i < size; i++)
        if (!kinds[i] && !connected(c++, clients, mine, servers)) s->clients[s->nmine + others++] = i;
}

#define TRY(CTX, ...) IO_TRY_MPI((CTX)->error, "clients and I/O processes", __VA_ARGS__)

static int start(const io_ctx *ctx, MPI_Comm all, bool serving) {
    ioserver *s = ctx->state;
    int size, rank, kind = serving;
    TRY(ctx, MPI_Comm_dup, all, &s->link);
    TRY(ctx, MPI_Comm_size, all, &size);
    TRY(ctx, MPI_Comm_rank, all, &rank);
    int *kinds = malloc((size_t)size * sizeof *kinds);
    int *list = malloc((size_t)size * sizeof *list);
    *(serving ? &s->clients : &s->servers) = list;
    if (!kinds || !list) {
        free(kinds);
        return io_fail(ctx->error, "out of memory for a list of %d processes", size);
    }
    int code = MPI_Allgather(&kind, 1, MPI_INT, kinds, 1, MPI_INT, all);
    if (!code) join(s, kinds, size, rank, serving);
    free(kinds);
    if (code) return io_fail_mpi(ctx->error, "MPI_Allgather", "clients and I/O processes", code);
    return serving ? 0 : ioserver_send_start(ctx);
}

static int stop(const io_ctx *ctx, int status, bool keep) {
    ioserver *s = ctx->state;
    header *last = malloc(sizeof *last); /* not freed after a failure: the send may never complete */
    if (!last) return io_fail(ctx->error, "out of memory for a message of %zu bytes", sizeof *last);
    *last = (header){.request = REQUEST_STOP, .status = status, .keep = keep};
    for (int i = 0; i < s->nmine; i++) {
        MPI_Request request;
        TRY(ctx, MPI_Isend, last, sizeof *last, MPI_BYTE, s->servers[i], HEADER_TAG, s->link, &request);
        if (status)
            MPI_Request_free(&request);
        else
            TRY(ctx, MPI_Wait, &request, MPI_STATUS_IGNORE);
    }
    if (!status) free(last);
    return 0;
}

static void release(void *state) {
    ioserver *s = state;
    for (int i = 0; i < SLOTS; i++) free(s->slots[i].copy);
    free(s->clients);
    free(s->servers);
    free(s->inner_state);
}

/* A client's file: announced to servers for writing, opened by the inner method for reading. */
typedef struct {
    io_file base;
    uint64_t number;
    int first, count; /* the servers that this file's data goes to */
    unsigned turn;
    io_ctx inner_ctx;
    io_file *inner;
} client_file;

static int tell_each(client_file *f, const header *head, const void *bytes) {
    const io_ctx *ctx = f->base.ctx;
    ioserver *s = ctx->state;
    for (int i = 0; i < f->count; i++) {
        f->base.calls++;
        if (ioserver_send(ctx, s->servers[f->first + i], head, bytes)) return -1;
    }
    return ioserver_wait_sent(ctx);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    ioserver *s = ctx->state;
    client_file *f = io_file_new(sizeof *f, s->mine, ctx, path, schema);
    if (!f) return -1;
    bool own = schema->file_per_process || s->inner->traits & IO_FILE_PER_PROCESS;
    f->number = s->created++;
    /* A client's own file is written by one server, the next file by the next server. */
    f->first = own ? (int)(f->number % (uint64_t)s->nmine) : 0;
    f->count = own ? 1 : s->nmine;
    *file = &f->base;
    header head = {.request = REQUEST_CREATE, .file = f->number};
    void *packed = ioserver_pack(path, schema, &head.bytes);
    if (!packed) return io_fail(ctx->error, "out of memory to announce %s", path);
    int status = tell_each(f, &head, packed);
    if (!status) free(packed); /* otherwise it may still be in use */
    return status;
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    ioserver *s = ctx->state;
    client_file *f = io_file_new(sizeof *f, s->mine, ctx, path, schema);
    if (!f) return -1;
    f->inner_ctx = *ctx;
    f->inner_ctx.mode = IO_INDEPENDENT;
    f->inner_ctx.state = s->inner_state;
    *file = &f->base;
    return io_method_open(s->inner, &f->inner_ctx, path, schema, &f->inner);
}

static int write_parts(io_file *file, const io_part *parts, int n) {
    client_file *f = (client_file *)file;
    ioserver *s = file->ctx->state;
    for (int i = 0; i < n; i++) {
        pieces all = {.schema = file->schema, .part = &parts[i], .most = s->piece};
        header head = {.request = REQUEST_WRITE, .file = f->number};
        while (ioserver_next_piece(&all, &head.part)) {
            head.bytes = io_part_bytes(file->schema, &head.part);
            if (head.bytes > s->limit || (s->copy && head.bytes > s->piece))
                return io_fail(file->ctx->error,
                               "a record of %llu bytes is sent in one piece, but --queue-limit allows "
                               "pieces of %llu; use --queue-limit %llu or more: %s",
                               (unsigned long long)head.bytes, (unsigned long long)s->piece,
                               (unsigned long long)head.bytes * 4, file->path);
            file->calls++;
            int server = s->servers[f->first + (int)(f->turn++ % (unsigned)f->count)];
            if (ioserver_send(file->ctx, server, &head, head.part.data)) return -1;
        }
    }
    return s->copy ? 0 : ioserver_wait_sent(file->ctx);
}

static int read_parts(io_file *file, const io_part *parts, int n) {
    client_file *f = (client_file *)file;
    int status = f->inner->method->read(f->inner, parts, n);
    file->calls = f->inner->calls;
    return status;
}

static int sync_file(io_file *file) {
    client_file *f = (client_file *)file;
    return tell_each(f, &(header){.request = REQUEST_SYNC, .file = f->number}, NULL);
}

static int close_file(io_file *file) {
    client_file *f = (client_file *)file;
    int status;
    if (f->inner)
        status = f->inner->method->close(f->inner);
    else
        status = tell_each(f, &(header){.request = REQUEST_CLOSE, .file = f->number}, NULL);
    free(f);
    return status;
}

static int ask_all(const io_ctx *ctx, request_kind request, io_queue_use *use) {
    ioserver *s = ctx->state;
    for (int i = 0; i < s->nmine; i++)
        if (ioserver_send(ctx, s->servers[i], &(header){.request = request}, NULL)) return -1;
    /* Does not wait for the sends: the answers imply them. */
    int status = ioserver_wait_answers(ctx, use);
    return status ? status : ioserver_wait_sent(ctx);
}

static int drain(const io_ctx *ctx, io_queue_use *use) { return ask_all(ctx, REQUEST_DRAIN, use); }

static int move(const io_ctx *ctx) {
    io_queue_use ignored;
    return ask_all(ctx, REQUEST_MOVE, &ignored);
}

/* The hints in force for a file being read. */
static int hints(io_file *file, MPI_Info *used) {
    io_file *inner = ((client_file *)file)->inner;
    return inner->method->hints(inner, used);
}
static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    io_file *inner = ((client_file *)file)->inner;
    return inner->method->dataset_offset(inner, dataset, offset);
}
static int locate(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset) {
    io_file *inner = ((client_file *)file)->inner;
    return inner->method->locate(inner, part, local, index, offset);
}

static const io_option_functions own_options = {
    .list = options,
    .state_size = sizeof(ioserver),
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
    .release = release,
};

#define SERVERS                                                                                              \
    .count = count, .backend = backend, .start = start, .serve = ioserver_serve, .stop = stop, .drain = drain

static const io_server_functions own_servers = {SERVERS};
static const io_server_functions moving_servers = {SERVERS, .move = move, .undo = ioserver_undo};

const io_method io_method_ioserver = {
    .name = "ioserver",
    .summary = "dedicated I/O processes queue data and write it with another method",
    .extension = ".bin",
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .options = &own_options,
    .servers = &own_servers,
};
