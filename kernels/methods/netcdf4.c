/* SPDX-License-Identifier: BSD-3-Clause */
/* netcdf4: one NetCDF-4 file, with a variable per array, through the NetCDF C library and its parallel HDF5.
 *
 * collective and independent are the library's access modes, set per variable, with a call per part. Small
 * variables and scalars are moved independently in every mode, because a process cannot select nothing of a
 * scalar. Dimensions are fixed: the library lets variables grow in collective calls only. */
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/hdf5_file.h"
#include "methods/modes_of.h"

extern const io_method io_method_netcdf4;

#define MAX_FILES 64 /* open in HDF5 */

typedef struct {
    int group, id;
    bool independent;
} variable;

typedef struct {
    io_file base;
    int id;
    bool creating;
    variable variables[]; /* of each data set */
} netcdf4_file;

static const nc_type file_type[IO_TYPES] = {
    [IO_BYTE] = NC_UBYTE,     [IO_INT32] = NC_INT,     [IO_INT64] = NC_INT64, [IO_FLOAT32] = NC_FLOAT,
    [IO_FLOAT64] = NC_DOUBLE, [IO_INT8] = NC_BYTE,     [IO_UINT8] = NC_UBYTE, [IO_CHAR] = NC_CHAR,
    [IO_INT16] = NC_SHORT,    [IO_UINT16] = NC_USHORT, [IO_UINT32] = NC_UINT, [IO_UINT64] = NC_UINT64,
};

/* NetCDF reports all HDF5 failures as "HDF error"; HDF5 may still know the cause. */
static int fail(const io_ctx *ctx, const char *call, const char *path, int code) {
    if (code == NC_EHDFERR && H5Eget_num(H5E_DEFAULT) > 0) return io_hdf5_fail(ctx, call, path);
    return io_fail_library(ctx->error, call, path, nc_strerror(code));
}

/* Returns from the function at the first failing call, with its name. */
#define CHECK(file, call, ...)                                                                               \
    do {                                                                                                     \
        int code_ = call(__VA_ARGS__);                                                                       \
        if (code_ != NC_NOERR) return fail((file)->ctx, #call, (file)->path, code_);                         \
    } while (0)

/* Splits a name with slashes into its group, which is created if necessary, and the name within it. */
static int find_group(const netcdf4_file *f, const char *name, int *group, const char **within) {
    char part[NC_MAX_NAME + 1];
    *group = f->id;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        int inner, code;
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        code = nc_inq_ncid(*group, part, &inner);
        if (code == NC_ENOGRP && f->creating) code = nc_def_grp(*group, part, &inner);
        if (code != NC_NOERR) return fail(f->base.ctx, "nc_inq_ncid", f->base.path, code);
        *group = inner;
    }
    *within = name;
    return 0;
}

static int make_dimensions(const netcdf4_file *f, int *ids) {
    const io_schema *schema = f->base.schema;
    for (int i = 0; i < schema->ndims; i++) {
        int group;
        const char *name;
        if (!*schema->dims[i].name) continue;
        if (find_group(f, schema->dims[i].name, &group, &name)) return -1;
        CHECK(&f->base, nc_def_dim, group, name, (size_t)schema->dims[i].length, &ids[i]);
    }
    return 0;
}

/* Without fill values: the run writes every byte. */
static int make_variable(netcdf4_file *f, int dataset, const int *dims) {
    const io_schema *schema = f->base.schema;
    const io_dataset *d = &schema->datasets[dataset];
    const bool scalar = io_is_scalar(schema, d);
    variable *v = &f->variables[dataset];
    int ids[IO_MAX_DIMS];
    size_t chunk[IO_MAX_DIMS];
    const char *name;
    for (int i = 0; i < d->ndims; i++) {
        ids[i] = scalar ? 0 : dims[d->dim[i]];
        chunk[i] = d->chunk[i];
    }
    if (find_group(f, d->name, &v->group, &name)) return -1;
    CHECK(&f->base, nc_def_var, v->group, name, file_type[d->type], scalar ? 0 : d->ndims, ids, &v->id);
    CHECK(&f->base, nc_def_var_fill, v->group, v->id, 1, NULL);
    if (scalar) return 0;
    CHECK(&f->base, nc_def_var_chunking, v->group, v->id, *chunk ? NC_CHUNKED : NC_CONTIGUOUS,
          *chunk ? chunk : NULL);
    return 0;
}

static int make_variables(netcdf4_file *f) {
    const io_schema *schema = f->base.schema;
    int *dims = calloc((size_t)schema->ndims, sizeof *dims);
    if (!dims) return io_fail(f->base.ctx->error, "out of memory for %d dimensions", schema->ndims);
    int status = make_dimensions(f, dims);
    for (int i = 0; i < schema->ndatasets && !status; i++) status = make_variable(f, i, dims);
    free(dims);
    return status;
}

static int write_attributes(netcdf4_file *f) {
    const io_schema *schema = f->base.schema;
    for (int i = 0; i < schema->nattributes; i++)
        CHECK(&f->base, nc_put_att_double, f->id, NC_GLOBAL, schema->attributes[i].name, NC_DOUBLE, 1,
              &schema->attributes[i].value);
    for (int i = 0; i < schema->nuser_attributes; i++) {
        const io_user_attribute *attr = &schema->user_attributes[i];
        const variable global = {f->id, NC_GLOBAL, false};
        const variable *of = attr->dataset < 0 ? &global : &f->variables[attr->dataset];
        CHECK(&f->base, nc_put_att, of->group, of->id, attr->name, file_type[attr->type], attr->count,
              attr->values);
    }
    return 0;
}

static int find_variables(netcdf4_file *f) {
    for (int i = 0; i < f->base.schema->ndatasets; i++) {
        const char *name;
        if (find_group(f, f->base.schema->datasets[i].name, &f->variables[i].group, &name)) return -1;
        CHECK(&f->base, nc_inq_varid, f->variables[i].group, name, &f->variables[i].id);
    }
    return 0;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* we print the messages, once */
    char name[IO_MAX_PATH + 64];
    snprintf(name, sizeof name, "%s%s", ctx->prefix, path);
    netcdf4_file *f = io_file_new(sizeof *f + (size_t)schema->ndatasets * sizeof *f->variables,
                                  &io_method_netcdf4, ctx, path, schema);
    if (!f) return -1;
    f->creating = creating;
    f->base.calls++;
    /* The library requires NC_MPIIO before 4.6.2. */
    int code = creating
                   ? nc_create_par(name, NC_CLOBBER | NC_NETCDF4 | NC_MPIIO, ctx->comm, ctx->info, &f->id)
                   : nc_open_par(name, NC_NOWRITE | NC_MPIIO, ctx->comm, ctx->info, &f->id);
    *file = &f->base;
    if (code == NC_NOERR) return 0;
    free(f);
    return fail(ctx, creating ? "nc_create_par" : "nc_open_par", name, code);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
}

/* Sets the access mode of each variable. */
static int choose_access(netcdf4_file *f) {
    const io_schema *schema = f->base.schema;
    for (int i = 0; i < schema->ndatasets; i++) {
        const io_dataset *d = &schema->datasets[i];
        variable *v = &f->variables[i];
        v->independent = d->small || io_is_scalar(schema, d) || f->base.ctx->mode == IO_INDEPENDENT;
        CHECK(&f->base, nc_var_par_access, v->group, v->id, v->independent ? NC_INDEPENDENT : NC_COLLECTIVE);
    }
    return 0;
}

static int define(io_file *file) {
    netcdf4_file *f = (netcdf4_file *)file;
    file->calls += (uint64_t)file->schema->ndatasets;
    if (f->creating ? make_variables(f) || write_attributes(f) : find_variables(f)) return -1;
    if (f->creating) CHECK(file, nc_enddef, f->id);
    return choose_access(f);
}

static int move_one(netcdf4_file *f, const io_part *part, bool writing) {
    const io_schema *schema = f->base.schema;
    const variable *v = &f->variables[part->dataset];
    const bool nothing = !io_part_elements(schema, part);
    size_t first[IO_MAX_DIMS] = {0}, count[IO_MAX_DIMS] = {0};
    if (nothing && v->independent) return 0;
    for (int i = 0; i < schema->datasets[part->dataset].ndims && !nothing; i++) {
        first[i] = (size_t)part->start[i];
        count[i] = (size_t)part->count[i];
    }
    f->base.calls++;
    if (writing)
        CHECK(&f->base, nc_put_vara, v->group, v->id, first, count, part->data);
    else
        CHECK(&f->base, nc_get_vara, v->group, v->id, first, count, part->data);
    return 0;
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    for (int i = 0; i < n; i++)
        if (move_one((netcdf4_file *)file, &parts[i], writing)) return -1;
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

/* NetCDF has no call for the handle of the HDF5 file, but HDF5 lists its open files. -1 if it is not
 * found. */
static hid_t hdf5_of(const io_file *file) {
    hid_t ids[MAX_FILES], found = -1;
    char expected[IO_MAX_PATH + 64], name[sizeof expected];
    snprintf(expected, sizeof expected, "%s%s", file->ctx->prefix, file->path);
    const ssize_t n = H5Fget_obj_ids(H5F_OBJ_ALL, H5F_OBJ_FILE, MAX_FILES, ids);
    for (ssize_t i = 0; i < n; i++)
        if (H5Fget_name(ids[i], name, sizeof name) > 0 && !strcmp(name, expected)) found = ids[i];
    return found;
}

static int sync_file(io_file *file) {
    file->calls++;
    CHECK(file, nc_sync, ((netcdf4_file *)file)->id);
    return io_hdf5_sync(file, hdf5_of(file));
}

static int hints(io_file *file, MPI_Info *used) { return io_hdf5_hints(file, hdf5_of(file), used); }

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    const hid_t id = H5Dopen2(hdf5_of(file), file->schema->datasets[dataset].name, H5P_DEFAULT);
    if (id < 0)
        return -1; /* a variable named like a dimension that it does not have is stored under another name */
    const haddr_t at = H5Dget_offset(id);
    if (H5Dclose(id) < 0 || at == HADDR_UNDEF) return -1; /* chunked: not contiguous */
    *offset = at;
    return 0;
}

static int close_file(io_file *file) {
    netcdf4_file *f = (netcdf4_file *)file;
    file->calls++;
    int code = nc_close(f->id);
    int status = code == NC_NOERR ? 0 : fail(file->ctx, "nc_close", file->path, code);
    free(f);
    return status;
}

static void version(char *text, size_t size) {
    const char *full = nc_inq_libvers();
    snprintf(text, size, "%.*s", (int)strcspn(full, " "), full);
}

const io_method io_method_netcdf4 = {
    .name = "netcdf4",
    .summary = "one NetCDF-4 file through NetCDF's C library and parallel HDF5",
    .extension = ".nc",
    .modes = IO_MODES_OF_netcdf4,
    .default_mode = IO_COLLECTIVE,
    .moves_as = "hdf5",
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
    .version = version,
};
