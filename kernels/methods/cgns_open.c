/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a CGNS file, and checking what it can hold. */
#include <stdlib.h>
#include <string.h>

#include "methods/cgns_file.h"

int io_cgns_check_hint(const io_hint *hint, io_mode mode, io_error *error) {
    if (strcmp(hint->key, IO_HDF5_METADATA))
        return io_fail_usage(
            error, "--hint %s: the CGNS library sets HDF5's other properties itself; use " IO_HDF5_METADATA,
            hint->key);
#ifndef IOKERNEL_CGNS_METADATA
    return io_fail_usage(error,
                         "--hint %s: method cgns needs a shared HDF5 for it, but this build's is static; "
                         "omit it",
                         hint->key);
#endif
    return io_hdf5_check_metadata(hint, mode, error);
}

/* ---------------------------------------------------------------- supported schemas */

static const char *why_not(const io_schema *s, const io_dataset *d, const io_dataset *first) {
    bool alike = d->ndims == first->ndims && !memcmp(d->dim, first->dim, sizeof d->dim);
    if (!d->node || d->role == IO_PARAMETER) return "belongs to no zone";
    if (io_cgns_type(d->type) == CGNS_ENUMV(DataTypeNull)) return "has a type that CGNS does not support";
    switch (d->role) {
    case IO_CONNECTIVITY:
        if (d->ndims == 2 && d->block[1] < s->dims[d->dim[1]].length) return "is split within an element";
        if (d->ndims == 2 && d->type == IO_INT64 &&
            io_cgns_element(s->dims[d->dim[1]].length) != CGNS_ENUMV(ElementTypeNull))
            return NULL;
        return "is not a connectivity int64[elements][4, 5, 6 or 8]";
    case IO_USER_ARRAY: return d->ndims == 1 ? NULL : "is a user-defined array of more than one dimension";
    default: return alike && (d->ndims == 1 || d->ndims == 3) ? NULL : "does not have the shape of its zone";
    }
}

static bool is_mesh(const io_schema *schema) {
    for (int i = 0; i < schema->ndatasets; i++)
        if (schema->datasets[i].node) return true;
    return false;
}

int io_cgns_check_schema(const io_schema *schema, const io_choice *choice, io_error *error) {
    if (choice->prefix && *choice->prefix)
        return io_fail_usage(error,
                             "--prefix %s: method cgns opens files by their plain names; omit the prefix",
                             choice->prefix);
    const io_dataset *first = schema->datasets;
    if (!is_mesh(schema))
        return io_fail_usage(error, "method cgns writes meshes only; use a pattern "
                                    "of zones with coordinates");
    for (int i = 0; i < schema->ndatasets; i++) {
        const io_dataset *d = &schema->datasets[i];
        if (d->zone != first->zone) first = d;
        const char *why = why_not(schema, d, first);
        if (!why && d == first && d->role != IO_COORDINATE)
            why = "is the first of its zone and not a coordinate";
        if (why)
            return io_fail_usage(error,
                                 "method cgns writes meshes only, and data set %s %s; use a pattern "
                                 "of zones with coordinates",
                                 d->name, why);
    }
    return 0;
}

/* ---------------------------------------------------------------- opening */

/* The user's hints, and the collective metadata setting for our H5Fcreate and H5Fopen. */
static int info_for(const io_ctx *ctx, MPI_Info *info) {
    const char *metadata = io_hdf5_metadata(ctx);
    *info = MPI_INFO_NULL;
    if (!metadata && ctx->info == MPI_INFO_NULL) return 0;
    if (ctx->info == MPI_INFO_NULL)
        IO_TRY_MPI(ctx->error, "hints", MPI_Info_create, info);
    else
        IO_TRY_MPI(ctx->error, "hints", MPI_Info_dup, ctx->info, info);
    if (metadata) IO_TRY_MPI(ctx->error, "hints", MPI_Info_set, *info, IO_CGNS_METADATA_KEY, metadata);
    return 0;
}

static int open_parallel(cgns_file *f, int mode) {
    const io_ctx *ctx = f->base.ctx;
    MPI_Info info;
    if (info_for(ctx, &info)) return -1;
    const char *call = "cgp_mpi_comm";
    int code = cgp_mpi_comm(ctx->comm);
    if (!code) call = "cgp_mpi_info", code = cgp_mpi_info(info);
    if (!code)
        call = "cgp_pio_mode",
        code = cgp_pio_mode(ctx->mode == IO_INDEPENDENT ? CGP_INDEPENDENT : CGP_COLLECTIVE);
    if (!code) call = "cgp_open", code = cgp_open(f->base.path, mode, &f->id);
    int status = code ? io_cgns_fail(f, call) : 0;
    if (cgp_mpi_info(MPI_INFO_NULL)) status = io_cgns_fail(f, "cgp_mpi_info"); /* HDF5 has a copy */
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return status;
}

static int open_serial(cgns_file *f, int mode) {
    if (cg_set_file_type(CG_FILE_HDF5)) return io_cgns_fail(f, "cg_set_file_type");
    return cg_open(f->base.path, mode, &f->id) ? io_cgns_fail(f, "cg_open") : 0;
}

int io_cgns_start(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                  bool creating, io_file **file) {
    cgns_file *f = io_file_new(sizeof *f, method, ctx, path, schema);
    if (!f) return -1;
    f->creating = creating;
    f->serial = ctx->mode == IO_SERIAL;
    const bool multi = ctx->mode == IO_MULTI;
    f->zone = calloc((size_t)schema->ndatasets, sizeof *f->zone);
    f->index = calloc((size_t)schema->ndatasets, sizeof *f->index);
    f->data = multi ? calloc((size_t)schema->ndatasets, sizeof *f->data) : NULL;
    f->base.calls++;
    /* cgp_coord_multi_read_data rejects a file opened read-only. */
    int mode = creating ? CG_MODE_WRITE : multi ? CG_MODE_MODIFY : CG_MODE_READ, status;
    if (!f->zone || !f->index || (multi && !f->data))
        status = io_fail(ctx->error, "out of memory for %d data sets: %s", schema->ndatasets, path);
    else
        status = f->serial ? open_serial(f, mode) : open_parallel(f, mode);
    if (status) {
        io_cgns_release(f);
        return -1;
    }
    *file = &f->base;
    return 0;
}

void io_cgns_release(cgns_file *f) {
    free(f->zone);
    free(f->index);
    free(f->data);
    free(f);
}
