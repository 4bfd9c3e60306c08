/* SPDX-License-Identifier: BSD-3-Clause */
/* The build defines IO_HAS_<library> as 1 or 0 for each library in libraries.def. A method whose library is
 * missing has no symbol: its entry is NULL, selected by token pasting. */
#include "methods/registry.h"

#include <stdio.h>
#include <string.h>

#define IO_HAS_none 1

#define DECLARE_1(id) extern const io_method io_method_##id;
#define DECLARE_0(id)
#define DECLARE_PASTED(built, id) DECLARE_##built(id)
#define DECLARE_IF(built, id) DECLARE_PASTED(built, id)
#define IO_METHOD(id, name, library, modes, files) DECLARE_IF(IO_HAS_##library, id)
#include "methods/methods.def"
#undef IO_METHOD

/* Names of the libraries for messages. */
#define LIBRARY_none NULL
#define IO_LIBRARY(id, name, ...) static const char LIBRARY_##id[] __attribute__((unused)) = name;
#include "libraries.def"
#undef IO_LIBRARY

#define METHOD_1(id) &io_method_##id
#define METHOD_0(id) NULL
#define METHOD_PASTED(built, id) METHOD_##built(id)
#define METHOD_IF(built, id) METHOD_PASTED(built, id)
#define IO_METHOD(id, name, library, modes, files)                                                           \
    {name, METHOD_IF(IO_HAS_##library, id), LIBRARY_##library, #library},
static const io_method_entry methods[] = {
#include "methods/methods.def"
};
#undef IO_METHOD

const io_method_entry *io_methods(int *n) {
    *n = (int)(sizeof methods / sizeof *methods);
    return methods;
}

/* Each library and the one it depends on. */
static const struct {
    const char *id, *needs;
} libraries[] = {
#define IO_LIBRARY(id, name, header, library, variable, needs, ...) {#id, #needs},
#include "libraries.def"
#undef IO_LIBRARY
};

bool io_method_uses(const io_method *method, const char *library) {
    const char *here = "none";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].method && !strcmp(methods[i].name, method->name)) here = methods[i].needs;
    while (strcmp(here, library)) {
        size_t i = 0;
        while (i < sizeof libraries / sizeof *libraries && strcmp(libraries[i].id, here)) i++;
        if (i == sizeof libraries / sizeof *libraries) return false;
        here = libraries[i].needs;
    }
    return true;
}

int io_method_find(const char *name, const io_method **method, io_error *error) {
    char names[256] = "";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!strcmp(methods[i].name, name)) {
            *method = methods[i].method;
            if (*method) return 0;
            return io_fail_usage(
                error,
                "method %s: this build lacks %s; rebuild with it, or choose another from iokernel --list",
                name, methods[i].library);
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", methods[i].name);
    }
    return io_fail_usage(error, "method '%s' is unknown; use one of %s", name, names);
}
