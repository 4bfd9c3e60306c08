/* SPDX-License-Identifier: BSD-3-Clause */
/* twophase: one canonical file, by collective buffering with plain MPI and POSIX, without MPI-IO.
 *
 * Aggregators (by default all processes) have buffers in a window of memory shared by the processes of a
 * node. Each process copies its rows from its array directly into them, and the aggregator writes a buffer
 * with one pwrite while the next ones fill. Data for other nodes is sent in messages from the array. Reading
 * is the reverse. Buffers bound the memory, whatever the data size. Long rows are not exchanged, because they
 * gain nothing, and small writes are collected until there are enough (twophase_calls.c). */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "methods/twophase.h"

extern const io_method io_method_twophase;

#define MIN_BUFFER 4096
#define MAX_BUFFER (UINT64_C(1) << 30) /* the length of its message is an int */

/* ---------------------------------------------------------------- options */

enum { BUFFER = 1, AGGREGATORS, ROUNDS, SHARE, FORMAT, JOIN, STRAIGHT };
static const io_option options[] = {
    {"buffer-size", BUFFER, "SIZE", "size of a buffer and of a file chunk (default 256k)"},
    {"aggregators", AGGREGATORS, "N", "aggregators per node (default: all processes)"},
    {"rounds", ROUNDS, "N", "buffers per aggregator (default 2)"},
    {"share", SHARE, "N", "maximum processes that share memory (default: all of a node; 1: messages only)"},
    {"format", FORMAT, "F",
     "file format: raw (default), cdf5 or hdf5, as written by posix-shared, pnetcdf and hdf5"},
    {"join", JOIN, "SIZE", "collect small writes of a process up to this size (default 1m)"},
    {"straight", STRAIGHT, "SIZE", "rows of at least this size are not exchanged (default 4k)"},
    {0},
};

static void defaults(void *state) {
    *(twophase *)state = (twophase){.buffer = 256u << 10,
                                    .rounds = 2,
                                    .join = 1 << 20,
                                    .straight = 4096,
                                    .format = twophase_format_find("raw", NULL)};
}

static int option(void *state, int letter, const char *value, io_error *error) {
    twophase *t = state;
    switch (letter) {
    case BUFFER: return io_parse_size("--buffer-size", value, &t->buffer, error);
    case AGGREGATORS: return io_parse_count("--aggregators", value, &t->aggregators, error);
    case ROUNDS: return io_parse_count("--rounds", value, &t->rounds, error);
    case JOIN: return io_parse_size("--join", value, &t->join, error);
    case STRAIGHT: return io_parse_size("--straight", value, &t->straight, error);
    case SHARE: return io_parse_count("--share", value, &t->share, error);
    default: t->format = twophase_format_find(value, error); return t->format ? 0 : -1;
    }
}

static int configure(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error) {
    twophase *t = state;
    (void)processes;
    if (t->buffer < MIN_BUFFER || t->buffer > MAX_BUFFER)
        return io_fail_usage(error, "--buffer-size %llu: expected %d to %llu bytes",
                             (unsigned long long)t->buffer, MIN_BUFFER, (unsigned long long)MAX_BUFFER);
    if (t->join > MAX_BUFFER)
        return io_fail_usage(error, "--join %llu: expected 1 (no joining) to %llu bytes",
                             (unsigned long long)t->join, (unsigned long long)MAX_BUFFER);
    if (t->rounds > TWOPHASE_ROUNDS)
        return io_fail_usage(error, "--rounds %llu: expected 1 to %d", (unsigned long long)t->rounds,
                             TWOPHASE_ROUNDS);
    if (find(t->format->maker, &t->maker, error)) return -1;
    t->mine = mine;
    mine->extension = t->maker->extension;
    mine->traits |= t->maker->traits & IO_JUST_DATA;
    mine->check_schema = t->format->check_schema;
    return 0;
}

/* buffer_memory: the maximum of an aggregator, including messages and collected small writes. */
static json_t *describe(const void *state) {
    const twophase *t = state;
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I}", "buffer_size", (json_int_t)t->buffer, "aggregators",
                     (json_int_t)t->aggregators, "rounds", (json_int_t)t->rounds, "share",
                     (json_int_t)t->share, "join", (json_int_t)t->join, "straight", (json_int_t)t->straight,
                     "format", t->format->name, "buffer_memory",
                     (json_int_t)(t->buffer * (t->rounds + 1) + t->join));
}

/* ---------------------------------------------------------------- files */

/* A buffer is no larger than the largest data set, plus room for an element that crosses the end of a
 * chunk. */
static uint64_t room_for(const io_schema *schema, uint64_t buffer) {
    uint64_t most = 0;
    for (int i = 0; i < schema->ndatasets; i++) {
        uint64_t bytes = io_dataset_bytes(schema, i);
        if (bytes > most) most = bytes;
    }
    most = most < buffer ? most : buffer;
    return (most / 4096 + 1) * 4096;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    const twophase *t = ctx->state;
    twophase_file *f = io_file_new(sizeof *f, t->mine, ctx, path, schema);
    if (!f) return -1;
    *file = &f->posix.base;
    f->posix.fd = -1;
    f->node = MPI_COMM_NULL;
    f->window = MPI_WIN_NULL;
    f->options = t;
    f->room = room_for(schema, t->buffer);
    f->offsets = calloc((size_t)schema->ndatasets + 1, sizeof *f->offsets);
    int status = f->offsets ? 0 : io_fail(ctx->error, "out of memory for %d offsets", schema->ndatasets);
    if (!status && creating) status = twophase_join_start(f);
    if (!status && ctx->rank == 0) status = twophase_format_place(f, creating, f->offsets);
    if (twophase_agree(f, status)) return -1;
    int code = MPI_Bcast(f->offsets, schema->ndatasets, MPI_UINT64_T, 0, ctx->comm);
    if (code) return io_fail_mpi(ctx->error, "MPI_Bcast", path, code);
    return 0;
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
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
    .summary = "one shared file by collective buffering without MPI-IO",
    .extension = ".bin",
    .create = create,
    .open = open_existing,
    .write = twophase_write,
    .read = twophase_read,
    .sync = twophase_sync,
    .close = twophase_close,
    .dataset_offset = dataset_offset,
    .options = &own,
};
