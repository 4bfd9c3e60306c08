/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of methods: parsed before the method is known, and applied later. */
#ifndef IOGAUGE_METHOD_OPTIONS_H
#define IOGAUGE_METHOD_OPTIONS_H

#include <getopt.h>

#include "driver/run_options.h"

/* An option as given on the command line. */
struct io_chosen {
    const char *name, *value;
};

/* First getopt value for method options. */
#define IO_METHOD_LETTER 5000

/* Appends every method's long options, each name once. */
void io_method_options_add(struct option *longs, int *n, int most);
/* Stores an option found by getopt. */
int io_method_options_keep(io_run *run, const char *name, const char *value, io_error *error);
/* Applies them to the run's method, which checks them. A method with options becomes the run's own copy. */
int io_method_configure(io_run *run, uint64_t processes, io_error *error);
void io_method_options_release(io_run *run);

#endif
