/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration that depends on all options and the number of processes. */
#ifndef IOGAUGE_CONFIGURE_H
#define IOGAUGE_CONFIGURE_H

#include "driver/run_options.h"

/* Configures pattern, method and mode for a number of processes. Usage errors name the option. */
int io_configure(io_run *run, uint64_t processes, io_error *error);

#endif
