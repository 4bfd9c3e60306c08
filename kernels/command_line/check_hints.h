/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks before the run that a library in use supports each hint, and that its value is allowed. */
#ifndef IOGAUGE_CHECK_HINTS_H
#define IOGAUGE_CHECK_HINTS_H

#include "driver/run_options.h"

/* Checks hints of --hint, and of environment variables that a library of this run reads. */
int io_check_hints(const io_run *run, io_error *error);

#endif
