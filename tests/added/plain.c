/* SPDX-License-Identifier: BSD-3-Clause */
/* plain: a file for each process, a system call for each part. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "method.h"

extern const io_method io_method_plain;

typedef struct {
    io_file base;
    int fd;
} plain_file;

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, int flags, io_file **file) {
    plain_file *f = io_file_new(sizeof *f, &io_method_plain, ctx, path, schema);
    if (!f) return -1;
    f->fd = open(path, flags, 0666);
    if (f->fd >= 0) {
        *file = &f->base;
        return 0;
    }
    free(f);
    return io_fail_errno(ctx->error, "open", path, errno);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, O_WRONLY | O_CREAT | O_TRUNC, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, O_RDONLY, file);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    int fd = ((plain_file *)file)->fd;
    for (int i = 0; i < n; i++) {
        size_t bytes = io_part_bytes(file->schema, &parts[i]);
        off_t at = (off_t)parts[i].offset;
        file->calls++;
        ssize_t moved = writing ? pwrite(fd, parts[i].data, bytes, at) : pread(fd, parts[i].data, bytes, at);
        if (moved < 0 || (size_t)moved < bytes)
            return io_fail_errno(file->ctx->error, writing ? "pwrite" : "pread", file->path, errno);
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) {
    if (!fsync(((plain_file *)file)->fd)) return 0;
    return io_fail_errno(file->ctx->error, "fsync", file->path, errno);
}

static int close_file(io_file *file) {
    int code = close(((plain_file *)file)->fd) ? errno : 0;
    int status = code ? io_fail_errno(file->ctx->error, "close", file->path, code) : 0;
    free(file);
    return status;
}

const io_method io_method_plain = {
    .name = "plain",
    .summary = "a system call for each part",
    .extension = ".bin",
    .traits = IO_FILE_PER_PROCESS | IO_WRITES_INDEPENDENTLY,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
};
