/* SPDX-License-Identifier: BSD-3-Clause */
#include "method.h"

#include <stdio.h>
#include <stdlib.h>

#include "method_roles.h"

bool io_method_writes_independently(const io_method *method) {
    return method && (method->modes >> IO_INDEPENDENT & 1 || method->traits & IO_WRITES_INDEPENDENTLY);
}

int io_method_state(const io_method *method, void **state, io_error *error) {
    const io_option_functions *own = method->options;
    *state = own ? calloc(1, own->state_size) : NULL;
    if (!own) return 0;
    if (!*state) return io_fail(error, "out of memory for the options of method %s", method->name);
    own->defaults(*state);
    return 0;
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
