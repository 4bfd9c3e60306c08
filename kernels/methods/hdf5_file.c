/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/hdf5_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

hid_t io_hdf5_type(io_type type) {
    switch (type) {
    case IO_BYTE:
    case IO_UINT8: return H5T_NATIVE_UINT8;
    case IO_INT8: return H5T_NATIVE_INT8;
    case IO_CHAR: return H5T_C_S1;
    case IO_INT16: return H5T_NATIVE_INT16;
    case IO_UINT16: return H5T_NATIVE_UINT16;
    case IO_UINT32: return H5T_NATIVE_UINT32;
    case IO_UINT64: return H5T_NATIVE_UINT64;
    case IO_INT32: return H5T_NATIVE_INT32;
    case IO_INT64: return H5T_NATIVE_INT64;
    case IO_FLOAT32: return H5T_NATIVE_FLOAT;
    default: return H5T_NATIVE_DOUBLE;
    }
}

static hid_t member_type(const io_member *m) {
    hsize_t shape[IO_MAX_DIMS];
    for (int i = 0; i < m->ndims; i++) shape[i] = m->shape[i];
    hid_t one = io_hdf5_type(m->type);
    return m->ndims ? H5Tarray_create2(one, (unsigned)m->ndims, shape) : H5Tcopy(one);
}

hid_t io_hdf5_element(const io_schema *schema, const io_dataset *d) {
    if (!d->nmembers) return H5Tcopy(io_hdf5_type(d->type));
    hid_t made = H5Tcreate(H5T_COMPOUND, io_element_values(schema, d));
    size_t at = 0;
    for (int i = 0; i < d->nmembers && made >= 0; i++) {
        hid_t type = member_type(&d->members[i]);
        bool in = type >= 0 && H5Tinsert(made, d->members[i].name, at, type) >= 0;
        at += io_type_size(d->members[i].type) * d->members[i].count;
        if (type >= 0) H5Tclose(type);
        if (!in && H5Tclose(made) >= 0) made = -1;
    }
    return made;
}

static int write_user_attribute(hid_t object, const io_user_attribute *attr) {
    hsize_t count = attr->count;
    hid_t space = attr->array ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    hid_t type = H5Tcopy(io_hdf5_type(attr->type)), attribute = -1;
    int status = space < 0 || type < 0 ? -1 : 0;
    if (!status && attr->type == IO_CHAR && H5Tset_size(type, attr->count ? attr->count : 1) < 0) status = -1;
    if (!status) attribute = H5Acreate2(object, attr->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, type, attr->values) < 0) status = -1;
    if (attribute >= 0 && H5Aclose(attribute) < 0) status = -1;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

static int write_attributes(hid_t file, const io_schema *schema) {
    hid_t space = H5Screate(H5S_SCALAR), attribute = -1;
    int status = space < 0 ? -1 : 0;
    for (int i = 0; i < schema->nattributes && !status; i++) {
        attribute =
            H5Acreate2(file, schema->attributes[i].name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0 || H5Awrite(attribute, H5T_NATIVE_DOUBLE, &schema->attributes[i].value) < 0)
            status = -1;
        if (attribute >= 0 && H5Aclose(attribute) < 0) status = -1;
    }
    if (space >= 0) H5Sclose(space);
    return status;
}

int io_hdf5_attributes(hid_t file, const hid_t *datasets, const io_schema *schema) {
    if (write_attributes(file, schema)) return -1;
    for (int i = 0; i < schema->nuser_attributes; i++) {
        const io_user_attribute *attr = &schema->user_attributes[i];
        if (write_user_attribute(attr->dataset < 0 ? file : datasets[attr->dataset], attr)) return -1;
    }
    return 0;
}

/* The innermost message of HDF5's error stack that says more than "can't do it". */
static herr_t innermost(unsigned n, const H5E_error2_t *entry, void *text) {
    (void)n;
    snprintf(text, 512, "%s: %s", entry->func_name, entry->desc);
    return 0;
}

int io_hdf5_fail(const io_ctx *ctx, const char *call, const char *path) {
    char text[512] = "no message";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, text);
    /* Walking upward ends at the API call; the system's message is at the other end. */
    char inner[512] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, inner);
    return io_fail_library(ctx->error, call, path, inner[0] ? inner : text);
}

/* The MPI_File or file descriptor used by HDF5. */
static int handle_of(hid_t id, void **handle, bool *mpi) {
    hid_t access = H5Fget_access_plist(id);
    if (access < 0) return -1;
    *mpi = H5Pget_driver(access) == H5FD_MPIO;
    return H5Pclose(access) < 0 || H5Fget_vfd_handle(id, H5P_DEFAULT, handle) < 0 ? -1 : 0;
}

int io_hdf5_sync(io_file *file, hid_t id) {
    void *handle = NULL;
    bool mpi;
    file->calls += 2;
    if (H5Fflush(id, H5F_SCOPE_GLOBAL) < 0) return io_hdf5_fail(file->ctx, "H5Fflush", file->path);
    /* H5Fflush passes its buffers to the layer below, which then makes them durable. */
    if (handle_of(id, &handle, &mpi)) return io_hdf5_fail(file->ctx, "H5Fget_vfd_handle", file->path);
    if (!mpi) return fsync(*(int *)handle) ? io_fail_errno(file->ctx->error, "fsync", file->path, errno) : 0;
    int code = MPI_File_sync(*(MPI_File *)handle);
    return code ? io_fail_mpi(file->ctx->error, "MPI_File_sync", file->path, code) : 0;
}

const char *io_hdf5_metadata(const io_ctx *ctx) {
    return ctx->mode == IO_COLLECTIVE_METADATA ? "true" : io_hint_value(ctx->hints, IO_HDF5_METADATA);
}

int io_hdf5_check_metadata(const io_hint *hint, io_mode mode, io_error *error) {
    if (!IO_HDF5_HAS_METADATA)
        return io_fail_usage(error, "--hint %s: this build lacks " IO_HDF5_NO_METADATA, hint->key);
    if (strcmp(hint->value, "false") || mode != IO_COLLECTIVE_METADATA) return 0;
    return io_fail_usage(error,
                         "--mode %s conflicts with --hint %s=%s; use --mode %s with this "
                         "hint, or omit the hint",
                         io_mode_name(mode), hint->key, hint->value, io_mode_name(IO_COLLECTIVE));
}

#if IO_HDF5_HAS_METADATA
int io_hdf5_set_metadata(hid_t access, const char *wanted) {
    hbool_t on = !strcmp(wanted, "true");
    return H5Pset_all_coll_metadata_ops(access, on) < 0 || H5Pset_coll_metadata_write(access, on) < 0 ? -1
                                                                                                      : 0;
}

int io_hdf5_find_metadata(hid_t list, const char *wanted) {
    return H5Pset_all_coll_metadata_ops(list, !strcmp(wanted, "true")) < 0 ? -1 : 0;
}

/* Adds HDF5's collective metadata settings to MPI's hints. */
static int add_metadata(const io_file *file, hid_t id, MPI_Info used) {
    hbool_t read = false, write = false;
    hid_t access = H5Fget_access_plist(id);
    if (access < 0) return io_hdf5_fail(file->ctx, "H5Fget_access_plist", file->path);
    int status = 0;
    if (H5Pget_all_coll_metadata_ops(access, &read) < 0 || H5Pget_coll_metadata_write(access, &write) < 0)
        status = io_hdf5_fail(file->ctx, "H5Pget_coll_metadata_write", file->path);
    if (H5Pclose(access) < 0) status = io_hdf5_fail(file->ctx, "H5Pclose", file->path);
    if (status) return -1;
    IO_TRY_MPI(file->ctx->error, file->path, MPI_Info_set, used, "hdf5_coll_metadata_read",
               read ? "true" : "false");
    IO_TRY_MPI(file->ctx->error, file->path, MPI_Info_set, used, "hdf5_coll_metadata_write",
               write ? "true" : "false");
    return 0;
}
#else /* the mode and the hint are refused */
int io_hdf5_set_metadata(hid_t access, const char *wanted) { return (void)access, (void)wanted, 0; }
int io_hdf5_find_metadata(hid_t list, const char *wanted) { return (void)list, (void)wanted, 0; }
static int add_metadata(const io_file *file, hid_t id, MPI_Info used) {
    return (void)file, (void)id, (void)used, 0;
}
#endif

int io_hdf5_hints(io_file *file, hid_t id, MPI_Info *used) {
    void *handle = NULL;
    bool mpi;
    if (handle_of(id, &handle, &mpi)) return io_hdf5_fail(file->ctx, "H5Fget_vfd_handle", file->path);
    if (!mpi) return 0;
    IO_TRY_MPI(file->ctx->error, file->path, MPI_File_get_info, *(MPI_File *)handle, used);
    return add_metadata(file, id, *used);
}
