/* SPDX-License-Identifier: BSD-3-Clause */
/* What this build knows: methods/methods.def and patterns/patterns.def, one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "method.h"
#include "pattern.h"

#ifndef IOKERNEL_WITH_HDF5
#define IOKERNEL_WITH_HDF5 0
#endif
#ifndef IOKERNEL_WITH_PNETCDF
#define IOKERNEL_WITH_PNETCDF 0
#endif

#ifndef IOKERNEL_WITH_CGNS
#define IOKERNEL_WITH_CGNS 0
#endif

/* A method that is not built has no symbol: its entry is NULL, chosen by pasting 0 or 1. */
#define METHOD_1(id) &io_method_##id
#define METHOD_0(id) NULL
#define METHOD_IF(built, id) METHOD_##built(id)

#define DECLARE_1(id) extern const io_method io_method_##id;
#define DECLARE_0(id)
#define DECLARE_IF(built, id) DECLARE_##built(id)
#define IO_METHOD(id, name, built, library) DECLARE_IF(built, id)
#include "methods/methods.def"
#undef IO_METHOD

#define IO_METHOD(id, name, built, library) {name, METHOD_IF(built, id), library},
static const io_method_entry methods[] = {
#include "methods/methods.def"
};
#undef IO_METHOD

#define IO_PATTERN(id) extern const io_pattern io_pattern_##id;
#include "patterns/patterns.def"
#undef IO_PATTERN

#define IO_PATTERN(id) &io_pattern_##id,
static const io_pattern *const patterns[] = {
#include "patterns/patterns.def"
};

const io_method_entry *io_methods(int *n) {
    *n = (int)(sizeof methods / sizeof *methods);
    return methods;
}

const io_pattern *const *io_patterns(int *n) {
    *n = (int)(sizeof patterns / sizeof *patterns);
    return patterns;
}

const io_pattern *io_pattern_find(const char *name) {
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (!strcmp(patterns[i]->name, name)) return patterns[i];
    return NULL;
}

int io_most_parts(const io_pattern *pattern, const void *state) {
    return pattern->max_parts ? pattern->max_parts : pattern->most_parts(state);
}

int io_method_find(const char *name, const io_method **method, io_error *error) {
    char names[256] = "";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!strcmp(methods[i].name, name)) {
            *method = methods[i].method;
            if (*method) return 0;
            return io_fail_usage(
                error, "method %s: this build lacks %s; build with it, or choose from iokernel --list", name,
                methods[i].library);
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", methods[i].name);
    }
    return io_fail_usage(error, "method '%s' is unknown; right is one of %s", name, names);
}

bool io_method_writes_alone(const io_method *method) {
    return method && (method->modes >> IO_INDEPENDENT & 1 || method->traits & IO_ALONE);
}

static int define(io_file *file) { return file->method->define ? file->method->define(file) : 0; }

int io_method_create(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                     io_file **file) {
    return method->create(ctx, path, schema, file) ? -1 : define(*file);
}

int io_method_open(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   io_file **file) {
    return method->open(ctx, path, schema, file) ? -1 : define(*file);
}

void *io_file_new(size_t size, const io_method *method, const io_ctx *ctx, const char *path,
                  const io_schema *schema) {
    io_file *file = calloc(1, size);
    if (!file) {
        io_fail(ctx->error, "out of memory for the handle of %s", path);
        return NULL;
    }
    file->method = method;
    file->ctx = ctx;
    file->schema = schema;
    snprintf(file->path, sizeof file->path, "%s", path);
    return file;
}
