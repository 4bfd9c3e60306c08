/* SPDX-License-Identifier: BSD-3-Clause */
/* --help. */
#ifndef IOGAUGE_HELP_H
#define IOGAUGE_HELP_H

#include "driver/run_options.h"

void io_print_help(const io_run *run);

#endif
