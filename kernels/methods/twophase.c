/* SPDX-License-Identifier: BSD-3-Clause */
/* twophase: one canonical file, by collective buffering in plain MPI and POSIX, without MPI-IO.
 *
 * Aggregators (by default all processes) have buffers in a window that the processes of a node share. Each
 * process copies its rows from its array straight into them, and the aggregator writes a buffer with one
 * pwrite, while the next ones fill. What is for another node goes there as messages from the array. Reading
 * is the same backwards. The buffers bound the memory, whatever the data's size. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "methods/registry.h"
#include "methods/twophase.h"

extern const io_method io_method_twophase;

#define LEAST_BUFFER 4096
#define MOST_BUFFER (UINT64_C(1) << 30) /* a message of it has an int's length */

/* ---------------------------------------------------------------- options */

enum { BUFFER = 1, AGGREGATORS, ROUNDS, SHARE, FORMAT };
static const io_option options[] = {
    {"buffer-size", BUFFER, "SIZE", "bytes of a buffer and of a chunk of the file (default 256k)"},
    {"aggregators", AGGREGATORS, "N", "processes of a node that write and read (default all)"},
    {"rounds", ROUNDS, "N", "buffers of each of them, which fill and empty in turn (default 2)"},
    {"share", SHARE, "N", "processes that share memory at most (default a node's; 1: messages only)"},
    {"format", FORMAT, "F",
     "raw (default), cdf5 or hdf5: what file, as posix-shared, pnetcdf and hdf5 write"},
    {0},
};

static void defaults(void *state) {
    *(twophase *)state =
        (twophase){.buffer = 256u << 10, .rounds = 2, .format = twophase_format_find("raw", NULL)};
}

static int option(void *state, int letter, const char *value, io_error *error) {
    twophase *t = state;
    switch (letter) {
    case BUFFER: return io_parse_size("--buffer-size", value, &t->buffer, error);
    case AGGREGATORS: return io_parse_count("--aggregators", value, &t->aggregators, error);
    case ROUNDS: return io_parse_count("--rounds", value, &t->rounds, error);
    case SHARE: return io_parse_count("--share", value, &t->share, error);
    default: t->format = twophase_format_find(value, error); return t->format ? 0 : -1;
    }
}

static int configure(void *state, uint64_t processes, io_method *mine, io_error *error) {
    twophase *t = state;
    (void)processes;
    if (t->buffer < LEAST_BUFFER || t->buffer > MOST_BUFFER)
        return io_fail_usage(error, "--buffer-size %llu: right is %d to %llu bytes",
                             (unsigned long long)t->buffer, LEAST_BUFFER, (unsigned long long)MOST_BUFFER);
    if (t->rounds > TWOPHASE_ROUNDS)
        return io_fail_usage(error, "--rounds %llu: right is 1 to %d", (unsigned long long)t->rounds,
                             TWOPHASE_ROUNDS);
    if (io_method_find(t->format->maker, &t->maker, error)) return -1;
    t->mine = mine;
    mine->extension = t->maker->extension;
    mine->traits |= t->maker->traits & IO_JUST_DATA;
    mine->check_schema = t->format->check_schema;
    return 0;
}

/* buffer_memory: what an aggregator has at most, with that for messages. */
static json_t *describe(const void *state) {
    const twophase *t = state;
    return json_pack("{s:I,s:I,s:I,s:I,s:s,s:I}", "buffer_size", (json_int_t)t->buffer, "aggregators",
                     (json_int_t)t->aggregators, "rounds", (json_int_t)t->rounds, "share",
                     (json_int_t)t->share, "format", t->format->name, "buffer_memory",
                     (json_int_t)(t->buffer * (t->rounds + 1)));
}

/* ---------------------------------------------------------------- files */

/* All go on, or all fail with the message of the first one that did. */
static int agree(const twophase_file *f, int status) {
    const io_ctx *ctx = f->posix.base.ctx;
    int first = status ? ctx->rank : ctx->size;
    int code = MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, ctx->comm);
    if (!code && first == ctx->size) return 0;
    io_error told = *ctx->error;
    if (!code) code = MPI_Bcast(&told, sizeof told, MPI_BYTE, first, ctx->comm);
    if (code) return io_fail_mpi(ctx->error, "MPI_Allreduce", f->posix.base.path, code);
    if (!ctx->error->set) *ctx->error = told;
    ctx->error->relayed = true;
    return -1;
}

/* A buffer is no larger than the largest data set, and an element that begins in a chunk may end behind it.
 */
static uint64_t room_for(const io_schema *schema, uint64_t buffer) {
    uint64_t most = 0;
    for (int i = 0; i < schema->ndatasets; i++) {
        uint64_t bytes = io_dataset_bytes(schema, i);
        if (bytes > most) most = bytes;
    }
    most = most < buffer ? most : buffer;
    return (most / 4096 + 1) * 4096;
}

static int open_posix(twophase_file *f, bool creating) {
    io_file *opened;
    const io_file *base = &f->posix.base;
    if (f->mine < 0) return 0;
    if (io_posix_start(base->method, base->ctx, base->path, base->schema, creating ? O_WRONLY : O_RDONLY,
                       &opened))
        return -1;
    f->posix.fd = ((io_posix_file *)opened)->fd;
    free(opened);
    return 0;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    const twophase *t = ctx->state;
    twophase_file *f = io_file_new(sizeof *f, t->mine, ctx, path, schema);
    if (!f) return -1;
    *file = &f->posix.base;
    f->posix.fd = -1;
    f->options = t;
    f->room = room_for(schema, t->buffer);
    f->offsets = calloc((size_t)schema->ndatasets + 1, sizeof *f->offsets);
    int status = f->offsets ? 0 : io_fail(ctx->error, "out of memory for %d offsets", schema->ndatasets);
    if (!status && ctx->rank == 0) status = twophase_format_place(f, creating, f->offsets);
    if (agree(f, status)) return -1;
    int code = MPI_Bcast(f->offsets, schema->ndatasets, MPI_UINT64_T, 0, ctx->comm);
    if (code) return io_fail_mpi(ctx->error, "MPI_Bcast", path, code);
    if (twophase_node_start(f)) return -1;
    return open_posix(f, creating);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
}

/* ---------------------------------------------------------------- data */

/* Everybody's boxes of all parts of a call, so that nobody has to ask. */
static uint64_t *gather(const twophase_file *f, const io_part *parts, int n) {
    const io_ctx *ctx = f->posix.base.ctx;
    size_t mine = (size_t)n * TWOPHASE_BOX;
    uint64_t *all = calloc(((size_t)ctx->size + 1) * mine, sizeof *all), *own = all;
    if (!all) {
        io_fail(ctx->error, "out of memory for the boxes of %d processes", ctx->size);
        return NULL;
    }
    own += (size_t)ctx->size * mine;
    for (int i = 0; i < n; i++) {
        memcpy(own + i * TWOPHASE_BOX, parts[i].start, sizeof parts[i].start);
        memcpy(own + i * TWOPHASE_BOX + IO_MAX_DIMS, parts[i].count, sizeof parts[i].count);
    }
    int code = MPI_Allgather(own, (int)mine, MPI_UINT64_T, all, (int)mine, MPI_UINT64_T, ctx->comm);
    if (!code) return all;
    io_fail_mpi(ctx->error, "MPI_Allgather", f->posix.base.path, code);
    free(all);
    return NULL;
}

/* What of the data set this call moves, and in which chunks. */
static void set_range(twophase_way *w) {
    const io_schema *schema = w->file->posix.base.schema;
    uint64_t there = 0, length = io_dataset_length(schema, w->parts->dataset);
    w->lo = length;
    for (int rank = 0; rank < w->file->posix.base.ctx->size; rank++)
        for (int i = 0; i < w->n; i++) {
            io_part part = twophase_box(w, rank, i);
            uint64_t n = io_part_elements(schema, &part), first, last = 0;
            if (!n) continue;
            there += n;
            first = io_runs_of(schema, &part).first;
            io_runs end = io_runs_from(schema, &part, n - 1);
            if (io_runs_next(&end)) last = end.global + end.length;
            if (first < w->lo) w->lo = first;
            if (last > w->hi) w->hi = last;
        }
    if (w->lo >= w->hi) return;
    w->whole = there == w->hi - w->lo;
    w->first = (w->base + w->lo * w->size) / w->file->options->buffer;
    w->end = (w->base + w->hi * w->size - 1) / w->file->options->buffer + 1;
    w->next = w->first;
}

static int move_same(twophase_file *f, const io_part *parts, const uint64_t *boxes, int n, int stride,
                     bool writing, bool *bad) {
    int dataset = parts->dataset;
    uint64_t size = io_type_size(f->posix.base.schema->datasets[dataset].type);
    twophase_way w = {.file = f,
                      .parts = parts,
                      .boxes = boxes,
                      .n = n,
                      .stride = stride,
                      .writing = writing,
                      .base = f->offsets[dataset],
                      .size = size,
                      .swap = f->options->format->swapped ? size : 1,
                      .failed = *bad};
    set_range(&w);
    int status = writing ? twophase_write_way(&w) : twophase_read_way(&w);
    *bad = w.failed;
    return status;
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    twophase_file *f = (twophase_file *)file;
    uint64_t *boxes = gather(f, parts, n);
    bool bad = false;
    int status = boxes ? 0 : -1;
    for (int i = 0, same; i < n && !status; i += same) {
        same = io_parts_alike(parts + i, n - i);
        status = move_same(f, parts + i, boxes + (size_t)i * TWOPHASE_BOX, same, n, writing, &bad);
    }
    free(boxes);
    return status ? status : agree(f, bad);
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

/* Once for a node: its other processes have written to the same file, and all of them are through. */
static int sync_file(io_file *file) {
    twophase_file *f = (twophase_file *)file;
    int rank;
    MPI_Comm_rank(f->node, &rank);
    return rank ? 0 : io_posix_sync(file);
}

static int close_file(io_file *file) {
    twophase_file *f = (twophase_file *)file;
    int status = twophase_node_stop(f);
    free(f->offsets);
    if (f->posix.fd >= 0) return io_posix_close(file) || status ? -1 : 0;
    free(f);
    return status;
}

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    *offset = ((twophase_file *)file)->offsets[dataset];
    return 0;
}

static const io_option_functions own = {
    .list = options,
    .state_size = sizeof(twophase),
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
};

const io_method io_method_twophase = {
    .name = "twophase",
    .summary = "one shared file by collective buffering of our own, without MPI-IO",
    .extension = ".bin",
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .dataset_offset = dataset_offset,
    .options = &own,
};
