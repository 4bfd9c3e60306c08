/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#ifndef IOGAUGE_OPTIONS_H
#define IOGAUGE_OPTIONS_H

#include "pattern.h"

typedef enum { IO_DO_RUN, IO_DO_PLAN, IO_DO_LIST, IO_DO_HELP, IO_DO_VERSION } io_action;

/* Fills `run`; the pattern's state is new. -1 with a usage error in `error`. */
int io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error);
void io_options_release(io_run *run);

/* What can only be checked when the process count is known: the pattern's own checks, then method
 * and mode. */
int io_configure(io_run *run, uint64_t processes, io_error *error);

/* Whether the pattern's defaults can go through the method; if not, why. For --list. */
bool io_can(const io_pattern *pattern, const io_method *method, io_error *why);

void io_print_help(const io_run *run);

#endif
