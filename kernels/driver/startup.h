/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that ends a process whose MPI does not start. It watches MPI_Init and the first exchange between
 * all processes; after that the guard watches (guard.h), which needs MPI to begin with. */
#ifndef IOGAUGE_STARTUP_H
#define IOGAUGE_STARTUP_H

#include <stdbool.h>

typedef struct io_startup io_startup;

/* Before MPI_Init. `rank`: as the launcher says, or -1. NULL where `limit` (seconds) is 0: nothing is
 * watched. */
io_startup *io_startup_watch(double limit, int rank);
/* MPI_Init has returned. */
void io_startup_initialized(io_startup *startup);
/* All processes have met. */
void io_startup_done(io_startup *startup);

#endif
