/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints that libraries support (known_hints.def): library, versions and allowed values. */
#ifndef IOGAUGE_KNOWN_HINTS_H
#define IOGAUGE_KNOWN_HINTS_H

#include "base/error.h"

typedef enum {
    IO_HINTS_OF_MPI,
    IO_HINTS_OF_ROMIO,
    IO_HINTS_OF_OMPIO,
    IO_HINTS_OF_PNETCDF,
    IO_HINTS_OF_HDF5,
    IO_HINTS_OF_IBM,
    IO_HINTS_OF_CRAY,
    IO_HINT_LIBRARIES
} io_hint_library;

typedef enum { IO_HINT_NUMBER, IO_HINT_WORD, IO_HINT_LIST, IO_HINT_TEXT } io_hint_kind;

typedef struct {
    const char *name;
    io_hint_library library;
    const char *since, *until; /* versions of the library; "" if unlimited */
    io_hint_kind kind;
    const char *values, *what;
} io_known_hint;

const char *io_hint_library_name(io_hint_library library); /* name for messages */
const io_known_hint *io_known_hint_find(const char *name); /* NULL if no library has it */
/* The most similar known name, for "did you mean"; NULL if none is close. */
const char *io_known_hint_nearest(const char *name);
/* Checks the value; unknown names pass. `from` is the source, such as --hint. */
int io_known_hint_check(const char *from, const char *name, const char *value, io_error *error);
/* Does this version of the library support the hint? An unknown version ("") does. */
bool io_known_hint_is_of(const io_known_hint *hint, const char *version);

#endif
