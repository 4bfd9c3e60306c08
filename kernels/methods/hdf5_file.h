/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the methods on top of HDF5: types, messages, and the MPI file below an HDF5 file. */
#ifndef IOGAUGE_HDF5_FILE_H
#define IOGAUGE_HDF5_FILE_H

#include <hdf5.h>

#include "method.h"

hid_t io_hdf5_type(io_type type);
/* The type of a data set's elements, which the caller closes; negative after a failure of HDF5. */
hid_t io_hdf5_element(const io_schema *schema, const io_dataset *dataset);
/* Those of the schema, and those of a user's file; -1 for what HDF5 has the message of. */
int io_hdf5_attributes(hid_t file, const hid_t *datasets, const io_schema *schema);

/* Filters (hdf5_filters.c): what a data set's chunks pass through, in modes that compress. */
bool io_hdf5_is_filter_hint(const char *key);
int io_hdf5_check_filter_hint(const io_hint *hint, io_mode mode, io_error *error);
int io_hdf5_check_schema(const io_schema *schema, const io_choice *choice, io_error *error);
bool io_hdf5_has_filters(const io_ctx *ctx, const io_schema *schema, const io_dataset *dataset);
/* Of a list whose chunks are set. */
int io_hdf5_set_filters(hid_t create, const io_ctx *ctx, const io_schema *schema, const io_dataset *dataset,
                        const hsize_t *chunk);
uint64_t io_hdf5_stored(const hid_t *datasets, const io_schema *schema);

/* io_fail_library with the message of HDF5's error stack; before any other call of it. */
int io_hdf5_fail(const io_ctx *ctx, const char *call, const char *path);

/* Collective metadata: "true" and "false" as the mode and the user's hint ask for, NULL for neither. */
#define IO_HDF5_METADATA "hdf5_coll_metadata"
const char *io_hdf5_metadata(const io_ctx *ctx);
int io_hdf5_set_metadata(hid_t access, const char *wanted);
int io_hdf5_check_metadata(const io_hint *hint, io_mode mode, io_error *error); /* for check_hint */

/* The methods' sync and hints, for a file that HDF5 has open through MPI-IO or, in mode serial, without. */
int io_hdf5_sync(io_file *file, hid_t id);
int io_hdf5_hints(io_file *file, hid_t id, MPI_Info *used);

#endif
