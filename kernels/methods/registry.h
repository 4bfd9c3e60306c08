/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods in methods.def, including those that this build lacks. */
#ifndef IOGAUGE_METHOD_REGISTRY_H
#define IOGAUGE_METHOD_REGISTRY_H

#include "method.h"

typedef struct {
    const char *name;
    const io_method *method; /* NULL: this build lacks it */
    const char *library;     /* the library that it needs, as in messages; NULL for none */
    const char *needs;       /* the same, as in libraries.def; none */
} io_method_entry;

const io_method_entry *io_methods(int *n);
/* Does the method use the library with this identifier (libraries.def)? */
bool io_method_uses(const io_method *method, const char *library);
int io_method_find(const char *name, const io_method **method, io_error *error);

#endif
