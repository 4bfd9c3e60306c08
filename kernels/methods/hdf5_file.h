/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the methods based on HDF5: types, messages, and the MPI file used by HDF5. */
#ifndef IOGAUGE_HDF5_FILE_H
#define IOGAUGE_HDF5_FILE_H

#include <hdf5.h>

#include "method.h"

#ifndef H5_VERSION_GE /* before HDF5 1.8.7 */
#define H5_VERSION_GE(major, minor, release)                                                                 \
    (H5_VERS_MAJOR * 1000000 + H5_VERS_MINOR * 1000 + H5_VERS_RELEASE >=                                     \
     (major) * 1000000 + (minor) * 1000 + (release))
#endif

hid_t io_hdf5_type(io_type type);
/* The type of a data set's elements, which the caller closes; negative on failure. */
hid_t io_hdf5_element(const io_schema *schema, const io_dataset *dataset);
/* Writes the attributes of the schema and of a user's file; -1 with a message on HDF5's error stack. */
int io_hdf5_attributes(hid_t file, const hid_t *datasets, const io_schema *schema);

/* Filters (hdf5_filters.c) of a data set's chunks, in compressing modes. */
bool io_hdf5_is_filter_hint(const char *key);
int io_hdf5_check_filter_hint(const io_hint *hint, io_mode mode, io_error *error);
int io_hdf5_check_schema(const io_schema *schema, const io_choice *choice, io_error *error);
bool io_hdf5_has_filters(const io_ctx *ctx, const io_schema *schema, const io_dataset *dataset);
/* For a creation property list whose chunks are set. */
int io_hdf5_set_filters(hid_t create, const io_ctx *ctx, const io_schema *schema, const io_dataset *dataset,
                        const hsize_t *chunk);
uint64_t io_hdf5_stored(const hid_t *datasets, const io_schema *schema);

/* io_fail_library with the message of HDF5's error stack. Call it before any other function of HDF5. */
int io_hdf5_fail(const io_ctx *ctx, const char *call, const char *path);

/* Collective metadata: "true" or "false" according to the mode and the user's hint, NULL if neither is
 * set. */
#define IO_HDF5_METADATA "hdf5_coll_metadata"
#define IO_HDF5_HAS_METADATA H5_VERSION_GE(1, 10, 0)
#define IO_HDF5_NO_METADATA "HDF5 1.10, which has collective metadata"
const char *io_hdf5_metadata(const io_ctx *ctx);
int io_hdf5_set_metadata(hid_t access, const char *wanted);
int io_hdf5_find_metadata(hid_t list, const char *wanted); /* of a data set's access list */
int io_hdf5_check_metadata(const io_hint *hint, io_mode mode, io_error *error); /* for check_hint */

/* A method's sync and hints, for a file that HDF5 opened through MPI-IO or, in mode serial, without. */
int io_hdf5_sync(io_file *file, hid_t id);
int io_hdf5_hints(io_file *file, hid_t id, MPI_Info *used);

#endif
