/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that belong to a method: known before the method is, given to it once it is. */
#ifndef IOGAUGE_METHOD_OPTIONS_H
#define IOGAUGE_METHOD_OPTIONS_H

#include <getopt.h>

#include "driver/run_options.h"

/* As it stood on the command line. */
struct io_chosen {
    const char *name, *value;
};

/* getopt's letters for them begin here. */
#define IO_METHOD_LETTER 5000

/* Appends every method's long options, each name once. */
void io_method_options_add(struct option *longs, int *n, int most);
/* Keeps what getopt found. */
int io_method_options_keep(io_run *run, const char *name, const char *value, io_error *error);
/* Hands them to the run's method, which checks them; that is then the run's own copy where it has options. */
int io_method_configure(io_run *run, uint64_t processes, io_error *error);
void io_method_options_release(io_run *run);

#endif
