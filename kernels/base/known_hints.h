/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints that libraries know (known_hints.def): whose they are, since when, and which values are right. */
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
    const char *since, *until; /* versions of the library; "" where that does not matter */
    io_hint_kind kind;
    const char *values, *what;
} io_known_hint;

const char *io_hint_library_name(io_hint_library library); /* as messages call it */
const io_known_hint *io_known_hint_find(const char *name); /* NULL: no library has it */
/* The known name that is most like it; NULL where none is. */
const char *io_known_hint_nearest(const char *name);
/* Is the value right? Names that are not known pass. `from`: who gives it, such as --hint. */
int io_known_hint_check(const char *from, const char *name, const char *value, io_error *error);
/* Has a library of this version the hint? Versions that say nothing ("") have. */
bool io_known_hint_is_of(const io_known_hint *hint, const char *version);

#endif
