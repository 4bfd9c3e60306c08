/* SPDX-License-Identifier: BSD-3-Clause */
/* What can only be made and checked once all options are known, and how many processes run. */
#ifndef IOGAUGE_CONFIGURE_H
#define IOGAUGE_CONFIGURE_H

#include "driver/run_options.h"

/* Pattern, method and mode are configured for so many processes; usage errors name the option. */
int io_configure(io_run *run, uint64_t processes, io_error *error);

#endif
