/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#ifndef IOGAUGE_OPTIONS_H
#define IOGAUGE_OPTIONS_H

#include "base/option.h"
#include "driver/run_options.h"

typedef enum { IO_DO_RUN, IO_DO_PLAN, IO_DO_LIST, IO_DO_HELP, IO_DO_VERSION } io_action;

/* Options that do not depend on the pattern or method. */
extern const io_option io_common_options[];

io_run io_run_defaults(void);
/* Fills `run` and allocates the pattern's state. -1 with a usage error in `error`. */
int io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error);
void io_options_release(io_run *run);

#endif
