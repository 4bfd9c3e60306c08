/* SPDX-License-Identifier: BSD-3-Clause */
/* null: moves nothing, to measure the driver itself. */
#include <stdlib.h>

#include "method.h"

extern const io_method io_method_null;

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    *file = io_file_new(sizeof **file, &io_method_null, ctx, path, schema);
    return *file ? 0 : -1;
}

static int move(io_file *file, const io_part *parts, int n) {
    (void)parts;
    (void)n;
    file->calls++;
    return 0;
}

static int sync_nothing(io_file *file) {
    file->calls++;
    return 0;
}

static int stop(io_file *file) {
    free(file);
    return 0;
}

const io_method io_method_null = {
    .name = "null",
    .summary = "moves no data: measures the overhead of the driver",
    .extension = "",
    .traits = IO_MOVES_NOTHING | IO_WRITES_INDEPENDENTLY,
    .create = start,
    .open = start,
    .write = move,
    .read = move,
    .sync = sync_nothing,
    .close = stop,
};
