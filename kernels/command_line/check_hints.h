/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a library of this run know each hint, and is its value right? Asked before anything runs. */
#ifndef IOGAUGE_CHECK_HINTS_H
#define IOGAUGE_CHECK_HINTS_H

#include "driver/run_options.h"

/* Those of --hint, and of variables that a library of this run reads. */
int io_check_hints(const io_run *run, io_error *error);

#endif
