/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that ends a process whose MPI does not start. It watches MPI_Init and the first exchange between
 * all processes; after that the guard takes over (guard.h), which needs MPI to start. */
#ifndef IOGAUGE_STARTUP_H
#define IOGAUGE_STARTUP_H

#include <stdbool.h>

#include "base/error.h"

typedef struct io_startup io_startup;

/* Sets `error` if libraries have loaded a second MPI: a communicator of one crashes the other. */
int io_startup_one_mpi(io_error *error);
/* Prints that MPI did not start in this process, and why. */
void io_startup_failed(int rank, const char *cause);
/* Before MPI_Init. `rank` is the launcher's, or -1. NULL if `limit` (seconds) is 0. */
io_startup *io_startup_watch(double limit, int rank);
/* MPI_Init has returned. */
void io_startup_initialized(io_startup *startup);
/* All processes have arrived. */
void io_startup_done(io_startup *startup);

#endif
