/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI data types for counts and offsets that exceed an int. */
#ifndef IOGAUGE_MPI_TYPES_H
#define IOGAUGE_MPI_TYPES_H

#include <mpi.h>

#include "base/error.h"
#include "base/layout.h"

/* A committed type of `bytes` contiguous bytes. */
int io_mpi_bytes(uint64_t bytes, MPI_Datatype *type, io_error *error);
/* A committed type of `n` contiguous values, which MPI may convert to another representation. */
int io_mpi_values(io_type of, uint64_t n, MPI_Datatype *type, io_error *error);
/* A committed file type: the positions of the parts in a canonical raw file, in file order. */
int io_mpi_file_type(const io_schema *schema, const io_part *parts, int n, MPI_Datatype *type,
                     io_error *error);

#endif
