/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods of this program, as methods.def lists them, with those that this build lacks. */
#ifndef IOGAUGE_METHOD_REGISTRY_H
#define IOGAUGE_METHOD_REGISTRY_H

#include "method.h"

typedef struct {
    const char *name;
    const io_method *method; /* NULL: this build lacks it */
    const char *library;     /* what it needs, as a message calls it; NULL for none */
    const char *needs;       /* the same, as libraries.def calls it; none */
} io_method_entry;

const io_method_entry *io_methods(int *n);
/* Is the library of this identifier (libraries.def) below it? */
bool io_method_uses(const io_method *method, const char *library);
int io_method_find(const char *name, const io_method **method, io_error *error);

#endif
