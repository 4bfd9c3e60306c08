/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread in each process that ends a job that hangs. It makes no MPI calls. The processes of a node publish
 * their progress in shared memory (pulse.h). If none makes progress for long enough, one guard reports which
 * process hangs and where, and ends the job. */
#ifndef IOGAUGE_GUARD_H
#define IOGAUGE_GUARD_H

#include "driver/pulse.h"

typedef struct io_guard io_guard;

/* Called by all, after io_world_start. NULL if `patience` (seconds) is 0, or if the processes of the node
 * cannot share memory or read their I/O counters; then there is no guard. */
io_guard *io_guard_start(io_world *world, double patience);
/* After MPI_Finalize. */
void io_guard_stop(io_guard *guard);

#endif
