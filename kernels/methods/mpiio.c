/* SPDX-License-Identifier: BSD-3-Clause */
/* mpiio: one canonical raw file through MPI-IO.
 *
 * collective: one MPI_File_write_at_all for all parts of a call, through a file view;
 * independent: the same with MPI_File_write_at, which all modes but ordered use for small data sets;
 * nonblocking: one MPI_File_iwrite_at_all per part, then one wait; ordered: the shared file pointer, so the
 * file holds the processes' data in rank order, call after call; external32: collective, in MPI's portable
 * representation, with a call per data type. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "methods/modes_of.h"
#include "methods/mpi_types.h"
#include "methods/posix_file.h"

extern const io_method io_method_mpiio;

/* Where an ordered call placed this process's data, for messages. */
typedef struct {
    uint64_t offset, bytes, file_offset; /* in the owner's data; length; in the file */
} placed;

typedef struct {
    io_file base;
    MPI_File handle;
    bool viewed;
    uint64_t end; /* ordered: bytes of all earlier calls of all processes */
    placed *placed;
    uint64_t nplaced;
} mpiio_file;

typedef int (*at_call)(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);
typedef int (*iat_call)(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Request *);
typedef int (*ordered_call)(MPI_File, void *, int, MPI_Datatype, MPI_Status *);

static int write_at_all(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    return MPI_File_write_at_all(f, o, b, n, t, s);
}
static int write_at(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    return MPI_File_write_at(f, o, b, n, t, s);
}
static int iwrite_at_all(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Request *r) {
    return MPI_File_iwrite_at_all(f, o, b, n, t, r);
}
static int write_ordered(MPI_File f, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    return MPI_File_write_ordered(f, b, n, t, s);
}

/* The two directions as a table: only the calls and their names differ. */
typedef struct {
    at_call all, one;
    iat_call start;
    ordered_call ordered;
    const char *all_name, *one_name, *start_name, *ordered_name;
    const char *when_short; /* advice if fewer bytes moved than requested */
} direction;

static const direction writing = {write_at_all,
                                  write_at,
                                  iwrite_at_all,
                                  write_ordered,
                                  "MPI_File_write_at_all",
                                  "MPI_File_write_at",
                                  "MPI_File_iwrite_at_all",
                                  "MPI_File_write_ordered",
                                  "check free space and quota (df), or reduce the data size"};
static const direction reading = {MPI_File_read_at_all,
                                  MPI_File_read_at,
                                  MPI_File_iread_at_all,
                                  MPI_File_read_ordered,
                                  "MPI_File_read_at_all",
                                  "MPI_File_read_at",
                                  "MPI_File_iread_at_all",
                                  "MPI_File_read_ordered",
                                  "the file is truncated, or was written with other options"};

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, int amode, io_file **file) {
    mpiio_file *f = io_file_new(sizeof *f, &io_method_mpiio, ctx, path, schema);
    if (!f) return -1;
    char name[IO_MAX_PATH + 64];
    snprintf(name, sizeof name, "%s%s", ctx->prefix, path);
    f->base.calls++;
    int code = MPI_File_open(ctx->comm, name, amode, ctx->info, &f->handle);
    if (code) {
        free(f);
        return io_fail_mpi(ctx->error, "MPI_File_open", name, code);
    }
    f->viewed = ctx->mode == IO_EXTERNAL32; /* a file opens in native representation, so a view must be set */
    *file = &f->base;
    return 0;
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, MPI_MODE_CREATE | MPI_MODE_WRONLY, file);
}

/* Do not read a file that is too short: OMPIO's nonblocking read would never complete, and ROMIO's strided
 * read would return zeros. */
static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    if (start(ctx, path, schema, MPI_MODE_RDONLY, file)) return -1;
    MPI_Offset size = 0;
    int code = MPI_File_get_size(((mpiio_file *)*file)->handle, &size);
    if (code) return io_fail_mpi(ctx->error, "MPI_File_get_size", path, code);
    return io_raw_check_size(ctx, path, schema, (uint64_t)size);
}

/* A contiguous piece of a data set needs no view. Decided by the largest block of the data set, not by the
 * process's own part, so that all processes decide the same. */
static bool needs_view(const mpiio_file *f, const io_part *parts, int n) {
    const io_schema *schema = f->base.schema;
    const io_dataset *d = &schema->datasets[parts[0].dataset];
    int last = d->ndims - 1;
    while (last > 0 && d->block[last] == schema->dims[d->dim[last]].length) last--;
    for (int i = 0; i < last; i++)
        if (d->block[i] != 1) return true;
    return n > 1;
}

static int change_view(mpiio_file *f, MPI_Datatype type) {
    f->base.calls++;
    const char *how = f->base.ctx->mode == IO_EXTERNAL32 ? "external32" : "native";
    int code = MPI_File_set_view(f->handle, 0, MPI_BYTE, type, how, MPI_INFO_NULL);
    if (code) return io_fail_mpi(f->base.ctx->error, "MPI_File_set_view", f->base.path, code);
    f->viewed = type != MPI_BYTE;
    return 0;
}

static uint64_t first_byte(const io_schema *schema, const io_part *part) {
    uint64_t size = io_type_size(schema->datasets[part->dataset].type);
    return io_dataset_offset(schema, part->dataset) + io_runs_of(schema, part).first * size;
}

static int set_view(mpiio_file *f, const io_part *parts, int n, MPI_Offset *offset) {
    if (!needs_view(f, parts, n)) {
        *offset = (MPI_Offset)first_byte(f->base.schema, parts);
        return f->viewed ? change_view(f, MPI_BYTE) : 0;
    }
    MPI_Datatype type;
    if (io_mpi_file_type(f->base.schema, parts, n, &type, f->base.ctx->error)) return -1;
    int status = change_view(f, type);
    MPI_Type_free(&type);
    *offset = 0;
    return status;
}

static int check_count(mpiio_file *f, MPI_Status *status, uint64_t bytes, const direction *dir,
                       const char *call) {
    MPI_Count moved = 0;
    int code = MPI_Get_elements_x(status, MPI_BYTE, &moved);
    if (code) return io_fail_mpi(f->base.ctx->error, "MPI_Get_elements_x", f->base.path, code);
    if ((uint64_t)moved == bytes) return 0;
    return io_fail(f->base.ctx->error, "%s: moved only %lld of %llu bytes: %s; %s", call, (long long)moved,
                   (unsigned long long)bytes, f->base.path, dir->when_short);
}

static uint64_t call_bytes(const io_schema *schema, const io_part *parts, int n) {
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += io_part_bytes(schema, &parts[i]);
    return bytes;
}

/* The memory type of a call: bytes, or values that MPI converts. MPICH 4.0 crashes in MPI_Pack_external_size
 * for an empty type, so an unused one has one value. */
static int memory_type(const mpiio_file *f, io_type of, uint64_t bytes, MPI_Datatype *type) {
    io_error *error = f->base.ctx->error;
    if (f->base.ctx->mode != IO_EXTERNAL32) return io_mpi_bytes(bytes, type, error);
    return io_mpi_values(of, bytes ? bytes / io_type_size(of) : 1, type, error);
}

static io_type type_of(const mpiio_file *f, const io_part *part) {
    return f->base.schema->datasets[part->dataset].type;
}

/* The parts of a call are contiguous in memory (pattern.h), so one type covers them all. */
static int move_once(mpiio_file *f, const io_part *parts, int n, const direction *dir) {
    io_error *error = f->base.ctx->error;
    bool all = io_mode_has(f->base.ctx->mode, IO_IS_COLLECTIVE);
    const char *name = all ? dir->all_name : dir->one_name;
    uint64_t bytes = call_bytes(f->base.schema, parts, n);
    MPI_Offset offset;
    MPI_Datatype type;
    MPI_Status status;
    if (set_view(f, parts, n, &offset) || memory_type(f, type_of(f, parts), bytes, &type)) return -1;
    f->base.calls++;
    int code = (all ? dir->all : dir->one)(f->handle, offset, parts->data, bytes ? 1 : 0, type, &status);
    MPI_Type_free(&type);
    if (code) return io_fail_mpi(error, name, f->base.path, code);
    return bytes ? check_count(f, &status, bytes, dir, name) : 0;
}

/* Headers and tables: each process moves its own runs independently. */
static int move_small(mpiio_file *f, const io_part *parts, int n, const direction *dir) {
    const io_schema *schema = f->base.schema;
    if (f->viewed && change_view(f, MPI_BYTE)) return -1;
    for (int i = 0; i < n; i++) {
        uint64_t size = io_type_size(schema->datasets[parts[i].dataset].type);
        uint64_t base = io_dataset_offset(schema, parts[i].dataset);
        for (io_runs r = io_runs_of(schema, &parts[i]); io_runs_next(&r);) {
            MPI_Datatype type;
            MPI_Status status;
            if (memory_type(f, type_of(f, &parts[i]), r.length * size, &type)) return -1;
            f->base.calls++;
            int code = dir->one(f->handle, (MPI_Offset)(base + r.global * size),
                                (char *)parts[i].data + r.local * size, 1, type, &status);
            MPI_Type_free(&type);
            if (code) return io_fail_mpi(f->base.ctx->error, dir->one_name, f->base.path, code);
            if (check_count(f, &status, r.length * size, dir, dir->one_name)) return -1;
        }
    }
    return 0;
}

/* Resources of a call's requests until they complete: ROMIO keeps reading the data types. */
typedef struct {
    MPI_Request *requests;
    MPI_Status *statuses;
    MPI_Datatype *types;
} pending;

static int start_and_wait(mpiio_file *f, const io_part *parts, int n, const direction *dir, pending *p) {
    io_error *error = f->base.ctx->error;
    MPI_Offset offset;
    if (set_view(f, parts, n, &offset)) return -1;
    int code = 0;
    for (int i = 0; i < n && !code; i++) {
        uint64_t bytes = io_part_bytes(f->base.schema, &parts[i]);
        if (io_mpi_bytes(bytes, &p->types[i], error)) return -1;
        f->base.calls++;
        code = dir->start(f->handle, offset, parts[i].data, bytes ? 1 : 0, p->types[i], &p->requests[i]);
        offset += (MPI_Offset)bytes;
    }
    if (code) return io_fail_mpi(error, dir->start_name, f->base.path, code);
    f->base.calls++;
    code = MPI_Waitall(n, p->requests, p->statuses);
    for (int i = 0, of; code == MPI_ERR_IN_STATUS && i < n; i++)
        if ((of = p->statuses[i].MPI_ERROR) != MPI_SUCCESS && of != MPI_ERR_PENDING) code = of;
    if (code) return io_fail_mpi(error, dir->start_name, f->base.path, code);
    for (int i = 0; i < n; i++) MPI_Type_free(&p->types[i]);
    return 0;
}

static int move_nonblocking(mpiio_file *f, const io_part *parts, int n, const direction *dir) {
    pending p = {malloc((size_t)n * sizeof *p.requests), malloc((size_t)n * sizeof *p.statuses),
                 malloc((size_t)n * sizeof *p.types)};
    int status = p.requests && p.statuses && p.types
                     ? start_and_wait(f, parts, n, dir, &p)
                     : io_fail(f->base.ctx->error, "out of memory for %d requests", n);
    free(p.requests);
    free(p.statuses);
    free(p.types);
    return status;
}

/* Only messages need the offset of an ordered call, so it is tracked here. */
static int remember(mpiio_file *f, const io_part *parts, uint64_t bytes) {
    io_error *error = f->base.ctx->error;
    uint64_t mine = bytes, before = 0, all = 0;
    int code = MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, f->base.ctx->comm);
    if (code) return io_fail_mpi(error, "MPI_Exscan", f->base.path, code);
    code = MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, f->base.ctx->comm);
    if (code) return io_fail_mpi(error, "MPI_Allreduce", f->base.path, code);
    placed *more = realloc(f->placed, (f->nplaced + 1) * sizeof *more);
    if (!more) return io_fail(error, "out of memory for the call list of %s", f->base.path);
    f->placed = more;
    f->placed[f->nplaced++] = (placed){parts->offset, bytes, f->end + (f->base.ctx->rank ? before : 0)};
    f->end += all;
    return 0;
}

/* ROMIO keeps the shared pointer in a hidden file, which it removes at a close that will not happen. */
static void remove_pointer(const char *path) {
    char pattern[IO_MAX_PATH + 16];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%.*s.%s.shfp.*", (int)(name - path), path, name);
    if (glob(pattern, GLOB_NOSORT, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
    globfree(&found);
}

static int move_ordered(mpiio_file *f, const io_part *parts, int n, const direction *dir) {
    io_error *error = f->base.ctx->error;
    uint64_t bytes = call_bytes(f->base.schema, parts, n);
    MPI_Datatype type;
    MPI_Status status;
    if (io_mpi_bytes(bytes, &type, error)) return -1;
    f->base.calls++;
    int code = dir->ordered(f->handle, parts->data, bytes ? 1 : 0, type, &status);
    MPI_Type_free(&type);
    if (code) {
        remove_pointer(f->base.path);
        return io_fail_mpi(error, dir->ordered_name, f->base.path, code);
    }
    if (remember(f, parts, bytes)) return -1;
    return bytes ? check_count(f, &status, bytes, dir, dir->ordered_name) : 0;
}

/* MPICH 4.0 crashes there for a type of several types, too: a call for each. */
static int move_by_type(mpiio_file *f, const io_part *parts, int n, const direction *dir) {
    for (int i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && type_of(f, &parts[i + same]) == type_of(f, &parts[i]);) same++;
        if (move_once(f, parts + i, same, dir)) return -1;
    }
    return 0;
}

static int move(io_file *file, const io_part *parts, int n, const direction *dir) {
    mpiio_file *f = (mpiio_file *)file;
    if (file->ctx->mode == IO_ORDERED) return move_ordered(f, parts, n, dir);
    if (file->schema->datasets[parts->dataset].small) return move_small(f, parts, n, dir);
    if (file->ctx->mode == IO_NONBLOCKING) return move_nonblocking(f, parts, n, dir);
    return file->ctx->mode == IO_EXTERNAL32 ? move_by_type(f, parts, n, dir) : move_once(f, parts, n, dir);
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, &writing); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, &reading); }

static int sync_file(io_file *file) {
    file->calls++;
    int code = MPI_File_sync(((mpiio_file *)file)->handle);
    if (code && file->ctx->mode == IO_ORDERED) remove_pointer(file->path);
    return code ? io_fail_mpi(file->ctx->error, "MPI_File_sync", file->path, code) : 0;
}

static int close_file(io_file *file) {
    mpiio_file *f = (mpiio_file *)file;
    file->calls++;
    int code = MPI_File_close(&f->handle);
    if (code && file->ctx->mode == IO_ORDERED) remove_pointer(file->path);
    int status = code ? io_fail_mpi(file->ctx->error, "MPI_File_close", file->path, code) : 0;
    free(f->placed);
    free(f);
    return status;
}

static int hints(io_file *file, MPI_Info *used) {
    int code = MPI_File_get_info(((mpiio_file *)file)->handle, used);
    return code ? io_fail_mpi(file->ctx->error, "MPI_File_get_info", file->path, code) : 0;
}

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    return file->ctx->mode == IO_ORDERED ? -1 : io_raw_dataset_offset(file, dataset, offset);
}

static int locate(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset) {
    mpiio_file *f = (mpiio_file *)file;
    uint64_t size = io_type_size(file->schema->datasets[part->dataset].type);
    if (!dataset_offset(file, part->dataset, offset)) {
        *offset += index * size;
        return 0;
    }
    uint64_t at = part->offset + local * size;
    for (uint64_t i = 0; i < f->nplaced; i++)
        if (at >= f->placed[i].offset && at < f->placed[i].offset + f->placed[i].bytes) {
            *offset = f->placed[i].file_offset + at - f->placed[i].offset;
            return 0;
        }
    return -1;
}

const io_method io_method_mpiio = {
    .name = "mpiio",
    .summary = "one shared raw file through MPI-IO",
    .extension = ".bin",
    .modes = IO_MODES_OF_mpiio,
    .default_mode = IO_COLLECTIVE,
    .traits = IO_TAKES_HINTS | IO_JUST_DATA,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .hints = hints,
    .dataset_offset = dataset_offset,
    .locate = locate,
};
