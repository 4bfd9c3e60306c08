/* SPDX-License-Identifier: BSD-3-Clause */
/* master: process 0 gathers all data and writes one canonical raw file.
 *
 * It works through the file in slabs, so that it never holds more than two slabs besides its own data. Within
 * a slab each process's share is contiguous in its memory, because runs are in file order, so shares are sent
 * from and received into the user's array. When a file call fails, process 0 keeps taking part in the
 * messages, so that no process hangs. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "methods/posix_file.h"

extern const io_method io_method_master;

#define SLAB_BYTES (8u << 20)
#define BOX (2 * IO_MAX_DIMS)

/* The position of a process in its part: runs can be consumed in pieces. */
typedef struct {
    io_runs runs;
    bool more;
    uint64_t used; /* elements of the current run already consumed */
} cursor;

typedef struct {
    io_posix_file posix; /* open on process 0 only */
    char *slab, *share;  /* process 0: the slab, and one process's share of it */
    cursor *cursors;     /* process 0: one per process */
    uint64_t *boxes;     /* process 0: start and count of every process's part */
} master_file;

static cursor cursor_of(const io_schema *schema, const io_part *part) {
    cursor c = {.runs = io_runs_of(schema, part)};
    c.more = io_runs_next(&c.runs);
    return c;
}

/* The next piece before element `hi`, or false. */
static bool take(cursor *c, uint64_t hi, uint64_t *global, uint64_t *local, uint64_t *length) {
    if (!c->more || c->runs.global + c->used >= hi) return false;
    *global = c->runs.global + c->used;
    *local = c->runs.local + c->used;
    *length = c->runs.length - c->used;
    if (*length > hi - *global) *length = hi - *global;
    c->used += *length;
    if (c->used == c->runs.length) {
        c->more = io_runs_next(&c->runs);
        c->used = 0;
    }
    return true;
}

/* How many elements before `hi` are left, and where they begin in the part. */
static uint64_t remaining(cursor c, uint64_t hi, uint64_t *first) {
    uint64_t global, local, length, sum = 0;
    while (take(&c, hi, &global, &local, &length)) {
        if (!sum) *first = local;
        sum += length;
    }
    return sum;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, int flags, io_file **file) {
    master_file *f = io_file_new(sizeof *f, &io_method_master, ctx, path, schema);
    io_file *opened;
    if (!f) return -1;
    f->posix.fd = -1;
    *file = &f->posix.base;
    if (ctx->rank) return 0;
    if (io_posix_start(&io_method_master, ctx, path, schema, flags, &opened)) {
        free(f);
        return -1;
    }
    f->posix = *(io_posix_file *)opened;
    free(opened);
    f->slab = malloc(SLAB_BYTES);
    f->share = malloc(SLAB_BYTES);
    f->cursors = malloc((size_t)ctx->size * sizeof *f->cursors);
    f->boxes = malloc((size_t)ctx->size * BOX * sizeof *f->boxes);
    if (!f->slab || !f->share || !f->cursors || !f->boxes)
        return io_fail(ctx->error, "out of memory for two slabs of %u bytes: %s", SLAB_BYTES, path);
    return 0;
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, O_CREAT | O_TRUNC | O_WRONLY, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    struct stat st;
    if (start(ctx, path, schema, O_RDONLY, file)) return -1;
    if (ctx->rank || fstat(((master_file *)*file)->posix.fd, &st)) return 0;
    /* Checked here, where all processes agree, and not in a call in which others would wait. */
    return io_raw_check_size(ctx, path, schema, (uint64_t)st.st_size);
}

/* Copies one process's pieces between its share and the slab or, if the slab has gaps, the file itself, where
 * the data set begins at `base`. */
static int place(master_file *f, cursor *c, bool writing, bool dense, char *share, uint64_t lo, uint64_t hi,
                 uint64_t size, uint64_t base) {
    uint64_t global, local, length;
    int status = 0;
    while (take(c, hi, &global, &local, &length)) {
        char *in_slab = f->slab + (global - lo) * size;
        if (!dense)
            status |= io_posix_move_at(&f->posix, writing, share, length * size, base + global * size);
        else
            memcpy(writing ? in_slab : share, writing ? share : in_slab, length * size);
        share += length * size;
    }
    return status;
}

/* Process 0's side of one slab. */
static int slab_of_master(master_file *f, const io_part *part, bool writing, uint64_t lo, uint64_t hi) {
    const io_ctx *ctx = f->posix.base.ctx;
    const io_schema *schema = f->posix.base.schema;
    uint64_t size = io_type_size(schema->datasets[part->dataset].type), covered = 0, first = 0;
    uint64_t base = io_dataset_offset(schema, part->dataset);
    for (int r = 0; r < ctx->size; r++) covered += remaining(f->cursors[r], hi, &first);
    bool dense = covered == hi - lo;
    int status = 0, code = 0;
    if (dense && !writing)
        status = io_posix_move_at(&f->posix, false, f->slab, (hi - lo) * size, base + lo * size);
    for (int r = 0; r < ctx->size; r++) {
        uint64_t n = remaining(f->cursors[r], hi, &first);
        if (!n) continue;
        char *share = r ? f->share : (char *)part->data + first * size;
        if (r && writing)
            code |= MPI_Recv(share, (int)(n * size), MPI_BYTE, r, 0, ctx->comm, MPI_STATUS_IGNORE);
        status |= place(f, &f->cursors[r], writing, dense, share, lo, hi, size, base);
        if (r && !writing) code |= MPI_Send(share, (int)(n * size), MPI_BYTE, r, 0, ctx->comm);
    }
    f->posix.base.calls += (uint64_t)ctx->size;
    if (code) return io_fail_mpi(ctx->error, writing ? "MPI_Recv" : "MPI_Send", f->posix.base.path, code);
    if (dense && writing)
        status |= io_posix_move_at(&f->posix, true, f->slab, (hi - lo) * size, base + lo * size);
    return status;
}

/* The other processes' side. */
static int slab_of_other(io_file *file, cursor *c, const io_part *part, bool writing, uint64_t hi) {
    uint64_t size = io_type_size(file->schema->datasets[part->dataset].type), first = 0;
    uint64_t n = remaining(*c, hi, &first), global, local, length;
    char *data = (char *)part->data + first * size;
    int code = 0;
    while (take(c, hi, &global, &local, &length)) continue;
    if (!n) return 0;
    file->calls++;
    if (writing)
        code = MPI_Send(data, (int)(n * size), MPI_BYTE, 0, 0, file->ctx->comm);
    else
        code = MPI_Recv(data, (int)(n * size), MPI_BYTE, 0, 0, file->ctx->comm, MPI_STATUS_IGNORE);
    return code ? io_fail_mpi(file->ctx->error, writing ? "MPI_Send" : "MPI_Recv", file->path, code) : 0;
}

/* Gathers all boxes on process 0, and computes the range of elements that this call touches. */
static int agree(master_file *f, const io_part *part, uint64_t *lo, uint64_t *hi) {
    const io_ctx *ctx = f->posix.base.ctx;
    const io_schema *schema = f->posix.base.schema;
    uint64_t box[BOX], range[2] = {0, 0};
    memcpy(box, part->start, sizeof part->start);
    memcpy(box + IO_MAX_DIMS, part->count, sizeof part->count);
    /* One reduction for both ends: the largest of -first and of last. */
    uint64_t length = io_dataset_length(schema, part->dataset);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);) {
        if (!r.local) range[0] = length - r.global;
        range[1] = r.global + r.length;
    }
    int code = MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_UINT64_T, MPI_MAX, ctx->comm);
    if (!code) code = MPI_Gather(box, BOX, MPI_UINT64_T, f->boxes, BOX, MPI_UINT64_T, 0, ctx->comm);
    if (code) return io_fail_mpi(ctx->error, "MPI_Gather", f->posix.base.path, code);
    *lo = range[0] ? length - range[0] : 0;
    *hi = range[1];
    for (int r = 0; r < ctx->size && ctx->rank == 0; r++) {
        io_part other = {.dataset = part->dataset};
        memcpy(other.start, f->boxes + r * BOX, sizeof other.start);
        memcpy(other.count, f->boxes + r * BOX + IO_MAX_DIMS, sizeof other.count);
        f->cursors[r] = cursor_of(schema, &other);
    }
    return 0;
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    master_file *f = (master_file *)file;
    int status = 0;
    for (int i = 0; i < n; i++) {
        uint64_t lo = 0, end = 0,
                 step = SLAB_BYTES / io_type_size(file->schema->datasets[parts[i].dataset].type);
        if (agree(f, &parts[i], &lo, &end)) return -1;
        cursor mine = cursor_of(file->schema, &parts[i]);
        for (; lo < end; lo += step) {
            uint64_t hi = lo + step < end ? lo + step : end;
            if (file->ctx->rank == 0)
                status |= slab_of_master(f, &parts[i], writing, lo, hi);
            else
                status |= slab_of_other(file, &mine, &parts[i], writing, hi);
        }
    }
    return status ? -1 : 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) { return file->ctx->rank ? 0 : io_posix_sync(file); }

static int close_file(io_file *file) {
    master_file *f = (master_file *)file;
    free(f->slab);
    free(f->share);
    free(f->cursors);
    free(f->boxes);
    if (file->ctx->rank == 0) return io_posix_close(file);
    free(f);
    return 0;
}

const io_method io_method_master = {
    .name = "master",
    .summary = "process 0 gathers all data and writes one raw file",
    .extension = ".bin",
    .traits = IO_JUST_DATA,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .dataset_offset = io_raw_dataset_offset,
};
