/* SPDX-License-Identifier: BSD-3-Clause */
/* How the data sets of a call are moved:
 *
 * - Data sets with long rows go straight to the file: each process moves its own without waiting for others.
 * - Small writes are joined: each process keeps copies, which are exchanged together.
 * - All others are exchanged at once.
 * The schema alone decides, so that all processes do the same without communication. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "methods/twophase.h"

int twophase_agree(const twophase_file *f, int status) {
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

/* Called by an aggregator, or by a process that writes its own rows. */
static int open_file(twophase_file *f, bool writing) {
    io_file *opened;
    const io_file *base = &f->posix.base;
    if (f->posix.fd >= 0) return 0;
    if (io_posix_start(base->method, base->ctx, base->path, base->schema, writing ? O_WRONLY : O_RDONLY,
                       &opened))
        return -1;
    f->posix.fd = ((io_posix_file *)opened)->fd;
    free(opened);
    return 0;
}

/* ---------------------------------------------------------------- exchange */

/* Gathers the boxes of all processes for some parts. */
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

/* A part's first element, and the one after its last; false if the part is empty. */
static bool ends_of(const io_schema *schema, const io_part *part, uint64_t *first, uint64_t *end) {
    uint64_t n = io_part_elements(schema, part);
    if (!n) return false;
    *first = io_runs_of(schema, part).first;
    io_runs last = io_runs_from(schema, part, n - 1);
    if (!io_runs_next(&last)) return false;
    *end = last.global + last.length;
    return true;
}

/* How many leading parts are in file order on every process: parts of different calls need not be. */
static int in_order(const twophase_exchange *w) {
    const io_schema *schema = w->file->posix.base.schema;
    int n = w->n;
    for (int rank = 0; rank < w->file->posix.base.ctx->size; rank++) {
        uint64_t before = 0, first, end;
        for (int i = 0; i < n; i++) {
            io_part part = twophase_box(w, rank, i);
            if (!ends_of(schema, &part, &first, &end)) continue;
            if (first < before) n = i;
            before = end;
        }
    }
    return n;
}

/* Sets the range of elements and chunks to move. */
static void set_range(twophase_exchange *w) {
    const io_schema *schema = w->file->posix.base.schema;
    uint64_t there = 0, first, end;
    w->lo = io_dataset_length(schema, w->parts->dataset);
    for (int rank = 0; rank < w->file->posix.base.ctx->size; rank++)
        for (int i = 0; i < w->n; i++) {
            io_part part = twophase_box(w, rank, i);
            if (!ends_of(schema, &part, &first, &end)) continue;
            there += io_part_elements(schema, &part);
            if (first < w->lo) w->lo = first;
            if (end > w->hi) w->hi = end;
        }
    if (w->lo >= w->hi) return;
    w->dense = there == w->hi - w->lo;
    w->first = (w->base + w->lo * w->size) / w->file->options->buffer;
    w->end = (w->base + w->hi * w->size - 1) / w->file->options->buffer + 1;
    w->next = w->first;
}

/* The size of numbers to byte-swap, or 1. */
static uint64_t swap_of(const twophase_file *f, uint64_t size) {
    return f->options->format->swapped ? size : 1;
}

/* Exchanges parts of one data set; sets *n to their number. */
static int exchange_some(twophase_file *f, const io_part *parts, const uint64_t *boxes, int *n, int stride,
                         bool writing) {
    int dataset = parts->dataset;
    uint64_t size = io_type_size(f->posix.base.schema->datasets[dataset].type);
    twophase_exchange w = {.file = f,
                           .parts = parts,
                           .boxes = boxes,
                           .n = *n,
                           .stride = stride,
                           .writing = writing,
                           .base = f->offsets[dataset],
                           .size = size,
                           .swap = swap_of(f, size),
                           .failed = f->failed};
    *n = w.n = in_order(&w);
    set_range(&w);
    int status = writing ? twophase_exchange_write(&w) : twophase_exchange_read(&w);
    f->failed = w.failed;
    return status;
}

/* The first exchange needs the window, and the file open on aggregators. */
static int prepare(twophase_file *f, bool writing) {
    if (f->board) return 0;
    int status = twophase_node_start(f);
    if (!status && f->mine >= 0) status = open_file(f, writing);
    return twophase_agree(f, status);
}

/* Collective, with the same data sets on all processes. */
static int exchange(twophase_file *f, const io_part *parts, int n, bool writing) {
    if (!n) return 0;
    if (prepare(f, writing)) return -1;
    uint64_t *boxes = gather(f, parts, n);
    int status = boxes ? 0 : -1;
    for (int i = 0, same; i < n && !status; i += same) {
        same = io_leading_parts(parts + i, n - i);
        status = exchange_some(f, parts + i, boxes + (size_t)i * TWOPHASE_BOX, &same, n, writing);
    }
    free(boxes);
    return status ? status : twophase_agree(f, f->failed);
}

/* ---------------------------------------------------------------- joined */

/* The most bytes of a data set that a process moves in a call. */
static uint64_t most_bytes(const io_dataset *d) {
    uint64_t bytes = io_type_size(d->type);
    for (int k = 0; k < d->ndims; k++) bytes *= d->block[k];
    return bytes;
}

static int join(twophase_file *f, const io_part *part) {
    twophase_joined *j = &f->joined;
    uint64_t bytes = io_part_bytes(f->posix.base.schema, part);
    if (bytes > f->options->join - j->used)
        return io_fail(f->posix.base.ctx->error, "a part of data set %s is larger than its block: %s",
                       f->posix.base.schema->datasets[part->dataset].name, f->posix.base.path);
    if (bytes) memcpy(j->data + j->used, part->data, bytes);
    j->parts[j->n] = *part;
    j->parts[j->n++].data = j->data + j->used;
    j->used += bytes;
    return 0;
}

static int flush(twophase_file *f) {
    twophase_joined *j = &f->joined;
    int n = j->n;
    j->n = 0;
    j->used = j->most = 0;
    return exchange(f, j->parts, n, true);
}

/* Keeps the parts for later. If they do not fit, those kept before are moved first. */
static int write_later(twophase_file *f, const io_part *parts, int n) {
    const io_schema *schema = f->posix.base.schema;
    twophase_joined *j = &f->joined;
    uint64_t most = 0, room = f->options->join;
    for (int i = 0; i < n; i++) most += most_bytes(&schema->datasets[parts[i].dataset]);
    bool small = most <= room && n <= TWOPHASE_JOINED;
    if (!small || j->most + most > room || j->n + n > TWOPHASE_JOINED)
        if (flush(f)) return -1;
    if (!small) return exchange(f, parts, n, true);
    for (int i = 0; i < n; i++)
        if (join(f, &parts[i])) return -1;
    j->most += most;
    return 0;
}

int twophase_join_start(twophase_file *f) {
    twophase_joined *j = &f->joined;
    j->parts = malloc(TWOPHASE_JOINED * sizeof *j->parts);
    j->data = malloc(f->options->join); /* the system allocates pages when they are touched */
    f->swap_buffer = malloc(TWOPHASE_SWAP_BYTES);
    if (j->parts && j->data && f->swap_buffer) return 0;
    return io_fail(f->posix.base.ctx->error,
                   "out of memory for %llu bytes of small writes; use a smaller --join",
                   (unsigned long long)f->options->join);
}

/* ---------------------------------------------------------------- straight */

/* Is an exchange useless? It helps data sets, other than small ones, whose largest part has short runs; but
 * not reads of one contiguous part: a short write can wait for others, a read cannot. */
static bool is_straight(const twophase_file *f, const io_dataset *d, bool writing) {
    const io_schema *schema = f->posix.base.schema;
    uint64_t run = io_type_size(d->type), runs = 1;
    int k = d->ndims;
    if (d->small || f->options->straight >= TWOPHASE_NEVER) return d->small;
    while (k--) {
        run *= d->block[k];
        if (d->block[k] < schema->dims[d->dim[k]].length) break;
    }
    while (k-- > 0) runs *= d->block[k];
    return run >= f->options->straight || (!writing && runs == 1);
}

static int turned_write(twophase_file *f, const char *data, uint64_t bytes, uint64_t size, uint64_t offset) {
    for (uint64_t done = 0, some; done < bytes; done += some) {
        some = bytes - done < TWOPHASE_SWAP_BYTES ? bytes - done : TWOPHASE_SWAP_BYTES;
        twophase_swap_bytes(size, f->swap_buffer, data + done, some);
        if (io_posix_move_at(&f->posix, true, f->swap_buffer, some, offset + done)) return -1;
    }
    return 0;
}

static int straight_part(twophase_file *f, const io_part *part, bool writing) {
    const io_schema *schema = f->posix.base.schema;
    uint64_t size = io_type_size(schema->datasets[part->dataset].type);
    uint64_t swap = swap_of(f, size);
    int status = 0;
    for (io_runs r = io_runs_of(schema, part); !status && io_runs_next(&r);) {
        char *data = (char *)part->data + r.local * size;
        uint64_t bytes = r.length * size, offset = f->offsets[part->dataset] + r.global * size;
        if (writing && swap > 1)
            status = turned_write(f, data, bytes, swap, offset);
        else
            status = io_posix_move_at(&f->posix, writing, data, bytes, offset);
        if (!writing && !status && swap > 1) twophase_swap_bytes(swap, data, data, bytes);
    }
    return status;
}

/* A process that fails continues, because others depend on it; the failure is reported at the next
 * agreement. */
static void straight(twophase_file *f, const io_part *parts, int n, bool writing) {
    if (!f->failed && open_file(f, writing)) f->failed = true;
    for (int i = 0; i < n && !f->failed; i++)
        if (straight_part(f, &parts[i], writing)) f->failed = true;
}

/* ---------------------------------------------------------------- calls */

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    twophase_file *f = (twophase_file *)file;
    int status = 0;
    for (int i = 0, some; i < n && !status; i += some) {
        const io_dataset *sets = file->schema->datasets;
        bool is = is_straight(f, &sets[parts[i].dataset], writing);
        for (some = 1; i + some < n; some++)
            if (is_straight(f, &sets[parts[i + some].dataset], writing) != is) break;
        if (is)
            straight(f, parts + i, some, writing);
        else
            status = writing ? write_later(f, parts + i, some) : exchange(f, parts + i, some, false);
    }
    return status;
}

int twophase_write(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
int twophase_read(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

/* Moves what was kept, and waits for the calls of all processes, as the end of an exchange does. */
static int finish_writes(twophase_file *f) { return f->joined.n ? flush(f) : twophase_agree(f, f->failed); }

/* Called by every process that has written: as fast as one per node, and simpler. */
int twophase_sync(io_file *file) {
    twophase_file *f = (twophase_file *)file;
    if (finish_writes(f)) return -1;
    return f->posix.fd < 0 ? 0 : io_posix_sync(file);
}

int twophase_close(io_file *file) {
    twophase_file *f = (twophase_file *)file;
    int status = finish_writes(f);
    if (twophase_node_stop(f)) status = -1;
    free(f->joined.parts);
    free(f->joined.data);
    free(f->swap_buffer);
    free(f->offsets);
    if (f->posix.fd >= 0) return io_posix_close(file) || status ? -1 : 0;
    free(f);
    return status;
}
