/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/posix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux moves at most 0x7ffff000 bytes per call. */
#define MOST 0x40000000u

int io_posix_start(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   int flags, io_file **file) {
    io_posix_file *f = io_file_new(sizeof *f, method, ctx, path, schema);
    if (!f) return -1;
    f->base.calls++;
    f->fd = open(path, flags | O_CLOEXEC, 0666);
    if (f->fd < 0) {
        int code = errno;
        free(f);
        return io_fail_errno(ctx->error, "open", path, code);
    }
    *file = &f->base;
    return 0;
}

int io_posix_cut(io_posix_file *file, const char *call, uint64_t data_end) {
    struct stat st;
    if (fstat(file->fd, &st)) return io_fail_errno(file->base.ctx->error, "fstat", file->base.path, errno);
    uint64_t end = (uint64_t)st.st_size;
    return io_fail(file->base.ctx->error,
                   "%s: the file ends at byte %" PRIu64 ", %" PRIu64 " bytes before the end of its data: %s; "
                   "it is truncated, or was written with other options",
                   call, end, data_end - (end < data_end ? end : data_end), file->base.path);
}

int io_posix_move_at(io_posix_file *file, bool writing, void *data, uint64_t bytes, uint64_t offset) {
    const char *call = writing ? "pwrite" : "pread";
    char *at = data;
    while (bytes) {
        uint64_t some = bytes < MOST ? bytes : MOST;
        file->base.calls++;
        ssize_t n =
            writing ? pwrite(file->fd, at, some, (off_t)offset) : pread(file->fd, at, some, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_fail_errno(file->base.ctx->error, call, file->base.path, errno);
        if (!n) return io_posix_cut(file, call, offset + bytes);
        at += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

int io_posix_sync(io_file *file) {
    file->calls++;
    if (fsync(((io_posix_file *)file)->fd))
        return io_fail_errno(file->ctx->error, "fsync", file->path, errno);
    return 0;
}

int io_posix_close(io_file *file) {
    int status = 0;
    file->calls++;
    if (close(((io_posix_file *)file)->fd))
        status = io_fail_errno(file->ctx->error, "close", file->path, errno);
    free(file);
    return status;
}

int io_raw_dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    *offset = io_dataset_offset(file->schema, dataset);
    return 0;
}

int io_raw_check_size(const io_ctx *ctx, const char *path, const io_schema *schema, uint64_t size) {
    uint64_t expected = io_dataset_offset(schema, schema->ndatasets);
    if (size >= expected) return 0;
    return io_fail(ctx->error,
                   "open: the file has %llu bytes, expected %llu: %s; "
                   "it is truncated, or was written with other options",
                   (unsigned long long)size, (unsigned long long)expected, path);
}
