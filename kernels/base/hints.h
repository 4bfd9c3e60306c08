/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints: "K=V" for MPI-IO and the libraries above it, and how each one reaches its library (hints.def). */
#ifndef IOGAUGE_HINTS_H
#define IOGAUGE_HINTS_H

#include <mpi.h>

#include "base/error.h"

/* `write:KEY=VALUE` and `read:KEY=VALUE` apply to one direction only. */
typedef enum { IO_HINT_OF_WRITING, IO_HINT_OF_READING, IO_HINT_OF_BOTH } io_hint_of;

typedef struct {
    io_hint_of of;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
} io_hint;

typedef struct {
    io_hint *items;
    int n;
} io_hints;

typedef enum { IO_HINT_MPI_INFO, IO_HINT_ENVIRONMENT, IO_HINT_PNETCDF, IO_HINT_HDF5 } io_hint_way;
io_hint_way io_hint_way_of(const char *key);
/* The hint in an environment variable (or "NAME=VALUE"): the end of its name. NULL if it is none. */
const char *io_hint_of_variable(const char *variable);

/* Has the user chosen ROMIO instead of OMPIO in Open MPI? OMPI_MCA_io=romio321, or ^ompio. */
bool io_openmpi_romio(void);

/* Adds "KEY=VALUE", which may begin with a direction; a wrong form or a wrong value of a known hint is a
 * usage error. */
int io_hints_add(io_hints *hints, const char *text, io_error *error);
const char *io_hint_value(const io_hints *hints, const char *key); /* NULL where it is not set */
/* The name with its direction: `write:cb_nodes`. */
#define IO_HINT_NAME (MPI_MAX_INFO_KEY + 8)
void io_hint_name(const io_hint *hint, char name[IO_HINT_NAME]);
/* The direction at the start of a name; `key`: the rest of it. */
io_hint_of io_hint_direction(const char *name, const char **key);
/* The hints of a direction that MPI may see, as a new info (MPI_INFO_NULL where there are none). */
int io_hints_info(const io_hints *hints, io_hint_of direction, MPI_Info *info, io_error *error);

#endif
