/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a run. */
#ifndef IOGAUGE_RUN_OPTIONS_H
#define IOGAUGE_RUN_OPTIONS_H

#include "driver/case.h"
#include "driver/ceilings.h"

typedef struct io_chosen io_chosen;

typedef struct {
    io_case what;
    io_method own;     /* this run's copy of a method with options (command_line/method_options.h) */
    io_chosen *chosen; /* options of methods as given */
    int nchosen;
    uint64_t processes; /* with --plan */
    bool reuse_given, ceilings, space_check, phases, plan;
    io_ceiling_choice ceiling;
    bool unknown_hints; /* unknown hints are allowed */
    double patience;    /* seconds without progress after which the job ends; 0: never */
    double start_limit; /* seconds for MPI to start; 0: no limit */
    const char *json;
    int argc;
    char **argv;
} io_run;

#endif
