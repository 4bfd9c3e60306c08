/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOGAUGE_HINTS_H
#define IOGAUGE_HINTS_H

#include "io.h"

/* Adds "KEY=VALUE"; a wrong form or a wrong value of a known hint is a usage error. */
int io_hints_add(io_hints *hints, const char *text, io_error *error);
/* The hints that MPI may see, as a new info (MPI_INFO_NULL where there are none). */
int io_hints_info(const io_hints *hints, MPI_Info *info, io_error *error);

#endif
