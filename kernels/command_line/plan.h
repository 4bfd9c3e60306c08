/* SPDX-License-Identifier: BSD-3-Clause */
/* --plan: what a run would do, for any number of processes, from the patterns' own layout. */
#ifndef IOGAUGE_PLAN_H
#define IOGAUGE_PLAN_H

#include "driver/run_options.h"

/* Without MPI: files, bytes, calls and memory. Configures the run for the processes that it has. */
int io_plan(io_run *run, io_error *error);

#endif
