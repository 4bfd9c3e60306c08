/* SPDX-License-Identifier: BSD-3-Clause */
/* --plan: describes a run on any number of processes, from the pattern's layout. */
#ifndef IOGAUGE_PLAN_H
#define IOGAUGE_PLAN_H

#include "driver/run_options.h"

/* Prints files, bytes, calls and memory, without MPI. Configures the run for its number of processes. */
int io_plan(io_run *run, io_error *error);

#endif
