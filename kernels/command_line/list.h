/* SPDX-License-Identifier: BSD-3-Clause */
/* --list: patterns, methods and modes of this build, as a table or as JSON. */
#ifndef IOGAUGE_LIST_H
#define IOGAUGE_LIST_H

#include "driver/run_options.h"

int io_list(const io_run *run, io_error *error);

#endif
