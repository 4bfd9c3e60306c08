/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods in methods.def, including those missing in this build. */
#ifndef IOGAUGE_METHOD_REGISTRY_H
#define IOGAUGE_METHOD_REGISTRY_H

#include "method.h"

typedef struct {
    const char *name;
    const io_method *method; /* NULL if missing in this build */
    const char *library;     /* name for messages of the library that it needs, or NULL */
    const char *needs;       /* the same, as in libraries.def, or none */
} io_method_entry;

const io_method_entry *io_methods(int *n);
/* Does the method use the library with this identifier (libraries.def)? */
bool io_method_uses(const io_method *method, const char *library);
int io_method_find(const char *name, const io_method **method, io_error *error);

#endif
