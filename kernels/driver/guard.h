/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread in each process that ends a job which stands still. It needs no MPI. All processes of a node show
 * in shared memory that they move (pulse.h); when none of them has for long enough, one guard says which
 * process stands still and where, and ends the job. */
#ifndef IOGAUGE_GUARD_H
#define IOGAUGE_GUARD_H

#include "driver/pulse.h"

typedef struct io_guard io_guard;

/* Called by all, after io_world_start. NULL where `patience` (seconds) is 0, or where the node's processes
 * cannot share memory or see what they read and wrote: then nothing is guarded. */
io_guard *io_guard_start(io_world *world, double patience);
/* After MPI's end. */
void io_guard_stop(io_guard *guard);

#endif
