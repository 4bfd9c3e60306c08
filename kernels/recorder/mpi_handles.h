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

/* Declares `AS`: the library's own function, looked up once. In Python that searches all its libraries. */
#define LOOK_UP(AS, NAME, PARAMETERS)                                                                        \
    static int(*AS) PARAMETERS;                                                                              \
    if (!AS) AS = (int(*) PARAMETERS)recorder_next("P" #NAME)
#define NEXT_MPI(NAME, PARAMETERS) LOOK_UP(next, NAME, PARAMETERS)

/* hints.c. Without the lock, because it calls MPI: MPI_File_open has opened a file. */
void recorder_opened_with(MPI_Info given, int mode, MPI_File handle);
/* A view was set in this representation. */
void recorder_viewed_as(const char *form);

#endif
