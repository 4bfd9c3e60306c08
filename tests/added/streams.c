/* SPDX-License-Identifier: BSD-3-Clause */
/* streams: a file for each process through the C library's streams. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "method.h"

extern const io_method io_method_streams;

typedef struct {
    io_file base;
    FILE *stream;
} stream_file;

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, const char *how,
                 io_file **file) {
    stream_file *f = io_file_new(sizeof *f, &io_method_streams, ctx, path, schema);
    if (!f) return -1;
    f->stream = fopen(path, how);
    if (f->stream) {
        *file = &f->base;
        return 0;
    }
    free(f);
    return io_fail_errno(ctx->error, "fopen", path, errno);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, "w", file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, "r", file);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    FILE *stream = ((stream_file *)file)->stream;
    for (int i = 0; i < n; i++) {
        size_t bytes = io_part_bytes(file->schema, &parts[i]);
        file->calls++;
        if (fseeko(stream, (off_t)parts[i].offset, SEEK_SET)) return -1;
        size_t moved =
            writing ? fwrite(parts[i].data, 1, bytes, stream) : fread(parts[i].data, 1, bytes, stream);
        if (moved < bytes) return io_fail_errno(file->ctx->error, "fwrite", file->path, errno);
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }

static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) {
    FILE *stream = ((stream_file *)file)->stream;
    if (!fflush(stream) && !fsync(fileno(stream))) return 0;
    return io_fail_errno(file->ctx->error, "fsync", file->path, errno);
}

static int close_file(io_file *file) {
    int code = fclose(((stream_file *)file)->stream) ? errno : 0;
    int status = code ? io_fail_errno(file->ctx->error, "fclose", file->path, code) : 0;
    free(file);
    return status;
}

const io_method io_method_streams = {
    .name = "streams",
    .summary = "C streams",
    .extension = ".bin",
    .traits = IO_FILE_PER_PROCESS | IO_ALONE,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
};
