/* SPDX-License-Identifier: BSD-3-Clause */
/* This library is preloaded into programs without MPI too, so functions are looked up. Open MPI's handles are
 * addresses of objects in its library: a recorder for Open MPI needs that library. */
#ifndef RECORDER_MPI_HANDLES_H
#define RECORDER_MPI_HANDLES_H

#include <mpi.h>

#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_datatype_null
#endif

/* Fortran bindings call the PMPI name directly, so both names are wrapped. */
#define BOTH_NAMES(NAME, PARAMETERS) EXPORT int NAME PARAMETERS __attribute__((alias("P" #NAME)))

/* `next`: the library's own function. */
#define NEXT_MPI(NAME, PARAMETERS)                                                                           \
    static int(*next) PARAMETERS;                                                                            \
    if (!next) next = (int(*) PARAMETERS)recorder_next("P" #NAME)

/* hints.c. Without the lock, because it calls MPI: MPI_File_open has opened a file. */
void recorder_opened_with(MPI_Info given, int mode, MPI_File handle);
/* A view was set in this representation. */
void recorder_viewed_as(const char *form);

#endif
