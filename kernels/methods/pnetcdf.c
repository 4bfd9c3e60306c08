/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf: one CDF-5 file, with a variable per array.
 *
 * collective: one ncmpi_put_vara_all per part; independent: ncmpi_put_vara between begin_indep_data and
 * end_indep_data; nonblocking: one iput per part of a call and one ncmpi_wait_all, which merges them. Parts
 * of one variable use one call (varn); small variables are written independently in every mode. */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

#include "method.h"
#include "methods/modes_of.h"

extern const io_method io_method_pnetcdf;

/* What releases before 1.5 lack, down to 1.2 of 2010. Types that are NC_NAT are refused. */
#define SINCE(minor) (PNETCDF_VERSION_MAJOR > 1 || PNETCDF_VERSION_MINOR >= (minor))
#if SINCE(4)
#define VARN(call) call
#else
#define VARN(call) NULL
#endif
#if SINCE(3)
#define SIGNED_CHAR MPI_SIGNED_CHAR
#else
#define SIGNED_CHAR MPI_BYTE
#define NC_UBYTE NC_NAT
#define NC_USHORT NC_NAT
#define NC_UINT NC_NAT
#define NC_INT64 NC_NAT
#define NC_UINT64 NC_NAT
#define ncmpi_inq_varoffset(id, variable, at) ((void)(id), (void)(variable), *(at) = 0, NC_EINVAL)
#endif
#if !SINCE(5)
#define ncmpi_inq_file_info ncmpi_get_file_info
/* Refused by check_schema. */
#define ncmpi_put_att(id, variable, name, ...) ((void)(variable), (void)(name), NC_EINVAL)
#endif

typedef struct {
    io_file base;
    int id;
    bool creating;
    int variables[]; /* of each data set */
} pnetcdf_file;

static const nc_type file_type[IO_TYPES] = {
    [IO_BYTE] = NC_BYTE,      [IO_INT32] = NC_INT,     [IO_INT64] = NC_INT64, [IO_FLOAT32] = NC_FLOAT,
    [IO_FLOAT64] = NC_DOUBLE, [IO_INT8] = NC_BYTE,     [IO_UINT8] = NC_UBYTE, [IO_CHAR] = NC_CHAR,
    [IO_INT16] = NC_SHORT,    [IO_UINT16] = NC_USHORT, [IO_UINT32] = NC_UINT, [IO_UINT64] = NC_UINT64,
};

/* A function, because MPI's handles need not be constants. */
static MPI_Datatype memory_type(io_type type) {
    switch (type) {
    case IO_BYTE:
    case IO_INT8: return SIGNED_CHAR;
    case IO_UINT8: return MPI_UNSIGNED_CHAR;
    case IO_CHAR: return MPI_CHAR;
    case IO_INT16: return MPI_SHORT;
    case IO_UINT16: return MPI_UNSIGNED_SHORT;
    case IO_UINT32: return MPI_UNSIGNED;
    case IO_UINT64: return MPI_UNSIGNED_LONG_LONG;
    case IO_INT32: return MPI_INT;
    case IO_INT64: return MPI_LONG_LONG;
    case IO_FLOAT32: return MPI_FLOAT;
    default: return MPI_DOUBLE;
    }
}

/* Returns from the function at the first failing call, with its name. */
#define CHECK(ctx, path, call, ...)                                                                          \
    do {                                                                                                     \
        int code_ = call(__VA_ARGS__);                                                                       \
        if (code_ != NC_NOERR) return io_fail_library((ctx)->error, #call, path, ncmpi_strerror(code_));     \
    } while (0)

static int make_variables(pnetcdf_file *f) {
    const io_schema *schema = f->base.schema;
    const io_ctx *ctx = f->base.ctx;
    const char *path = f->base.path;
    int *dims = malloc((size_t)schema->ndims * sizeof *dims);
    if (!dims) return io_fail(ctx->error, "out of memory for %d dimensions: %s", schema->ndims, path);
    int code = NC_NOERR;
    for (int i = 0; i < schema->nattributes && code == NC_NOERR; i++)
        code = ncmpi_put_att_double(f->id, NC_GLOBAL, schema->attributes[i].name, NC_DOUBLE, 1,
                                    &schema->attributes[i].value);
    for (int i = 0; i < schema->ndims && code == NC_NOERR; i++)
        if (*schema->dims[i].name)
            code = ncmpi_def_dim(f->id, schema->dims[i].name,
                                 schema->grows && !i ? NC_UNLIMITED : (MPI_Offset)schema->dims[i].length,
                                 &dims[i]);
    for (int i = 0; i < schema->ndatasets && code == NC_NOERR; i++) {
        const io_dataset *d = &schema->datasets[i];
        int ids[IO_MAX_DIMS];
        for (int j = 0; j < d->ndims; j++) ids[j] = dims[d->dim[j]];
        code = ncmpi_def_var(f->id, d->name, file_type[d->type], io_is_scalar(schema, d) ? 0 : d->ndims, ids,
                             &f->variables[i]);
    }
    for (int i = 0; i < schema->nuser_attributes && code == NC_NOERR; i++) {
        const io_user_attribute *attr = &schema->user_attributes[i];
        code = ncmpi_put_att(f->id, attr->dataset < 0 ? NC_GLOBAL : f->variables[attr->dataset], attr->name,
                             file_type[attr->type], (MPI_Offset)attr->count, attr->values);
    }
    free(dims);
    if (code != NC_NOERR) return io_fail_library(ctx->error, "ncmpi_def", path, ncmpi_strerror(code));
    CHECK(ctx, path, ncmpi_enddef, f->id);
    return 0;
}

static int find_variables(pnetcdf_file *f) {
    for (int i = 0; i < f->base.schema->ndatasets; i++)
        CHECK(f->base.ctx, f->base.path, ncmpi_inq_varid, f->id, f->base.schema->datasets[i].name,
              &f->variables[i]);
    return 0;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    char name[IO_MAX_PATH + 64];
    snprintf(name, sizeof name, "%s%s", ctx->prefix, path);
    pnetcdf_file *f = io_file_new(sizeof *f + (size_t)schema->ndatasets * sizeof *f->variables,
                                  &io_method_pnetcdf, ctx, path, schema);
    if (!f) return -1;
    f->creating = creating;
    f->base.calls++;
    int code = creating ? ncmpi_create(ctx->comm, name, NC_CLOBBER | NC_64BIT_DATA, ctx->info, &f->id)
                        : ncmpi_open(ctx->comm, name, NC_NOWRITE, ctx->info, &f->id);
    *file = &f->base;
    if (code == NC_NOERR) return 0;
    free(f);
    return io_fail_library(ctx->error, creating ? "ncmpi_create" : "ncmpi_open", name, ncmpi_strerror(code));
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
}

static int define(io_file *file) {
    pnetcdf_file *f = (pnetcdf_file *)file;
    if (f->creating ? make_variables(f) : find_variables(f)) return -1;
    if (file->ctx->mode == IO_INDEPENDENT) CHECK(file->ctx, file->path, ncmpi_begin_indep_data, f->id);
    return 0;
}

/* The calls differ in name only. */
typedef int (*put_one)(int, int, const MPI_Offset *, const MPI_Offset *, const void *, MPI_Offset,
                       MPI_Datatype);
typedef int (*get_one)(int, int, const MPI_Offset *, const MPI_Offset *, void *, MPI_Offset, MPI_Datatype);
typedef int (*put_many)(int, int, int, MPI_Offset *const *, MPI_Offset *const *, const void *, MPI_Offset,
                        MPI_Datatype);
typedef int (*get_many)(int, int, int, MPI_Offset *const *, MPI_Offset *const *, void *, MPI_Offset,
                        MPI_Datatype);
typedef struct {
    put_one put;
    get_one get;
    put_many putn;
    get_many getn;
    const char *put_name, *get_name, *putn_name, *getn_name;
} calls;

static const calls collective_calls = {
    ncmpi_put_vara_all,   ncmpi_get_vara_all,   VARN(ncmpi_put_varn_all), VARN(ncmpi_get_varn_all),
    "ncmpi_put_vara_all", "ncmpi_get_vara_all", "ncmpi_put_varn_all",     "ncmpi_get_varn_all"};
static const calls independent_calls = {ncmpi_put_vara,       ncmpi_get_vara,   VARN(ncmpi_put_varn),
                                        VARN(ncmpi_get_varn), "ncmpi_put_vara", "ncmpi_get_vara",
                                        "ncmpi_put_varn",     "ncmpi_get_varn"};

/* A part's start and count as MPI_Offset; returns the number of elements. */
static MPI_Offset box_of(const pnetcdf_file *f, const io_part *part, MPI_Offset *start, MPI_Offset *count) {
    for (int i = 0; i < f->base.schema->datasets[part->dataset].ndims; i++) {
        start[i] = (MPI_Offset)part->start[i];
        count[i] = (MPI_Offset)part->count[i];
    }
    return (MPI_Offset)io_part_elements(f->base.schema, part);
}

static int move_one(pnetcdf_file *f, const io_part *part, bool writing, const calls *api) {
    MPI_Offset start[IO_MAX_DIMS], count[IO_MAX_DIMS], n = box_of(f, part, start, count);
    MPI_Datatype type = memory_type(f->base.schema->datasets[part->dataset].type);
    int variable = f->variables[part->dataset];
    f->base.calls++;
    int code = writing ? api->put(f->id, variable, start, count, part->data, n, type)
                       : api->get(f->id, variable, start, count, part->data, n, type);
    if (code == NC_NOERR) return 0;
    return io_fail_library(f->base.ctx->error, writing ? api->put_name : api->get_name, f->base.path,
                           ncmpi_strerror(code));
}

/* Parts of one variable, contiguous in memory, in one call. */
static int move_many(pnetcdf_file *f, const io_part *parts, int n, bool writing, const calls *api) {
    MPI_Offset *numbers = malloc((size_t)n * 2 * IO_MAX_DIMS * sizeof *numbers), all = 0;
    MPI_Offset **boxes = malloc((size_t)n * 2 * sizeof *boxes);
    int used = 0, code = NC_NOERR, status = 0;
    if (!numbers || !boxes) status = io_fail(f->base.ctx->error, "out of memory for a call of %d parts", n);
    for (int i = 0; i < n && !status; i++) {
        boxes[used] = numbers + (size_t)i * 2 * IO_MAX_DIMS;
        boxes[n + used] = boxes[used] + IO_MAX_DIMS;
        MPI_Offset elements = box_of(f, &parts[i], boxes[used], boxes[n + used]);
        all += elements;
        used += elements > 0;
    }
    MPI_Datatype type = memory_type(f->base.schema->datasets[parts->dataset].type);
    int variable = f->variables[parts->dataset];
    f->base.calls++;
    if (!status)
        code = writing ? api->putn(f->id, variable, used, boxes, boxes + n, parts->data, all, type)
                       : api->getn(f->id, variable, used, boxes, boxes + n, parts->data, all, type);
    if (code != NC_NOERR)
        status = io_fail_library(f->base.ctx->error, writing ? api->putn_name : api->getn_name, f->base.path,
                                 ncmpi_strerror(code));
    free(numbers);
    free(boxes);
    return status;
}

static int start_one(pnetcdf_file *f, const io_part *part, bool writing, int *request) {
    MPI_Offset start[IO_MAX_DIMS], count[IO_MAX_DIMS], n = box_of(f, part, start, count);
    MPI_Datatype type = memory_type(f->base.schema->datasets[part->dataset].type);
    int variable = f->variables[part->dataset];
    f->base.calls++;
    int code = writing ? ncmpi_iput_vara(f->id, variable, start, count, part->data, n, type, request)
                       : ncmpi_iget_vara(f->id, variable, start, count, part->data, n, type, request);
    if (code == NC_NOERR) return 0;
    return io_fail_library(f->base.ctx->error, writing ? "ncmpi_iput_vara" : "ncmpi_iget_vara", f->base.path,
                           ncmpi_strerror(code));
}

static int move_nonblocking(pnetcdf_file *f, const io_part *parts, int n, bool writing) {
    int *requests = malloc((size_t)n * sizeof *requests), *states = malloc((size_t)n * sizeof *states),
        status = 0;
    if (!requests || !states) status = io_fail(f->base.ctx->error, "out of memory for %d requests", n);
    for (int i = 0; i < n && !status; i++) status = start_one(f, &parts[i], writing, &requests[i]);
    if (!status) {
        f->base.calls++;
        int code = ncmpi_wait_all(f->id, n, requests, states);
        for (int i = 0; i < n && code == NC_NOERR; i++) code = states[i];
        if (code != NC_NOERR)
            status =
                io_fail_library(f->base.ctx->error, "ncmpi_wait_all", f->base.path, ncmpi_strerror(code));
    }
    free(requests);
    free(states);
    return status;
}

/* Headers and tables: each process moves its own independently. */
static int move_small(pnetcdf_file *f, const io_part *parts, int n, bool writing) {
    const io_ctx *ctx = f->base.ctx;
    bool within = ctx->mode == IO_INDEPENDENT; /* the file is in independent mode already */
    if (!within) CHECK(ctx, f->base.path, ncmpi_begin_indep_data, f->id);
    for (int i = 0; i < n; i++)
        if (io_part_elements(f->base.schema, &parts[i]) &&
            move_one(f, &parts[i], writing, &independent_calls))
            return -1;
    if (!within) CHECK(ctx, f->base.path, ncmpi_end_indep_data, f->id);
    return 0;
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    pnetcdf_file *f = (pnetcdf_file *)file;
    const calls *api = file->ctx->mode == IO_COLLECTIVE ? &collective_calls : &independent_calls;
    if (file->schema->datasets[parts->dataset].small) return move_small(f, parts, n, writing);
    if (file->ctx->mode == IO_NONBLOCKING) return move_nonblocking(f, parts, n, writing);
    for (int i = 0, same; i < n; i += same) {
        same = api->putn ? io_leading_parts(parts + i, n - i) : 1;
        if (same > 1 ? move_many(f, parts + i, same, writing, api) : move_one(f, &parts[i], writing, api))
            return -1;
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) {
    pnetcdf_file *f = (pnetcdf_file *)file;
    file->calls++;
    CHECK(file->ctx, file->path, ncmpi_sync, f->id);
    return 0;
}

static int close_file(io_file *file) {
    pnetcdf_file *f = (pnetcdf_file *)file;
    file->calls++;
    int code = ncmpi_close(f->id);
    int status = code == NC_NOERR
                     ? 0
                     : io_fail_library(file->ctx->error, "ncmpi_close", file->path, ncmpi_strerror(code));
    free(f);
    return status;
}

static int hints(io_file *file, MPI_Info *used) {
    CHECK(file->ctx, file->path, ncmpi_inq_file_info, ((pnetcdf_file *)file)->id, used);
    return 0;
}

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    pnetcdf_file *f = (pnetcdf_file *)file;
    MPI_Offset at;
    if (ncmpi_inq_varoffset(f->id, f->variables[dataset], &at) != NC_NOERR) return -1;
    *offset = (uint64_t)at;
    return 0;
}

static int check_schema(const io_schema *schema, const io_choice *choice, io_error *error) {
    (void)choice;
    const char *name = io_first_in_group(schema), *compound = io_first_compound(schema);
    if (compound)
        return io_fail_usage(error,
                             "method pnetcdf does not support compounds, which CDF-5 lacks (data set %s); "
                             "use method hdf5, or iogauge replay like --skip",
                             compound);
    if (!SINCE(5) && schema->nuser_attributes)
        return io_fail_usage(error, "method pnetcdf needs PnetCDF 1.5 for attributes of a file");
    for (int i = 0; i < schema->ndatasets && !name; i++)
        if (file_type[schema->datasets[i].type] == NC_NAT)
            return io_fail_usage(error, "method pnetcdf needs PnetCDF 1.3 for type %s (data set %s)",
                                 io_type_name(schema->datasets[i].type), schema->datasets[i].name);
    if (!name) return 0;
    return io_fail_usage(error,
                         "method pnetcdf does not support groups (data set %s); use method hdf5, "
                         "or iogauge replay like --only",
                         name);
}

static void version(char *text, size_t size) {
    const char *full = ncmpi_inq_libvers();
    int length = 0;
    while (full[length] && full[length] != ' ') length++;
    snprintf(text, size, "%.*s", length, full);
}

const io_method io_method_pnetcdf = {
    .name = "pnetcdf",
    .summary = "one CDF-5 file through PnetCDF",
    .extension = ".nc",
    .modes = IO_MODES_OF_pnetcdf,
    .default_mode = IO_COLLECTIVE,
    .traits = IO_TAKES_HINTS,
    .create = create,
    .open = open_existing,
    .define = define,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .hints = hints,
    .dataset_offset = dataset_offset,
    .check_schema = check_schema,
    .version = version,
};
