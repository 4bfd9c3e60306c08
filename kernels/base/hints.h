/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints (KEY=VALUE) for MPI-IO and the libraries above it, and how each reaches its library (hints.def). */
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

typedef enum { IO_HINT_MPI_INFO, IO_HINT_ENVIRONMENT, IO_HINT_PNETCDF, IO_HINT_HDF5 } io_hint_channel;
io_hint_channel io_hint_channel_of(const char *key);
/* The hint's name in an environment variable (or "NAME=VALUE"); NULL if the variable is not a hint. */
const char *io_hint_of_variable(const char *variable);

/* Is ROMIO selected instead of OMPIO in Open MPI? (OMPI_MCA_io=romio321, or ^ompio) */
bool io_openmpi_romio(void);

/* Adds "KEY=VALUE", with an optional direction. A syntax error or an invalid value is a usage error. */
int io_hints_add(io_hints *hints, const char *text, io_error *error);
const char *io_hint_value(const io_hints *hints, const char *key); /* NULL if not set */
/* The name with its direction, such as write:cb_nodes. */
#define IO_HINT_NAME (MPI_MAX_INFO_KEY + 8)
void io_hint_name(const io_hint *hint, char name[IO_HINT_NAME]);
/* Splits off the direction; `key` is the rest of the name. */
io_hint_of io_hint_direction(const char *name, const char **key);
/* The hints of a direction for MPI, as a new info; MPI_INFO_NULL if there are none. */
int io_hints_info(const io_hints *hints, io_hint_of direction, MPI_Info *info, io_error *error);

#endif
