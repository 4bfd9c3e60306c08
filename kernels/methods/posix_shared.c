/* SPDX-License-Identifier: BSD-3-Clause */
/* posix-shared: one canonical raw file, to which every process writes its contiguous runs, one pwrite
 * each. */
#include <fcntl.h>

#include "methods/posix_file.h"

extern const io_method io_method_posix_shared;

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    /* One process creates the file, so that none truncates what another has begun to write. */
    int status = 0;
    if (ctx->rank == 0)
        status =
            io_posix_start(&io_method_posix_shared, ctx, path, schema, O_CREAT | O_TRUNC | O_WRONLY, file);
    int code = MPI_Bcast(&status, 1, MPI_INT, 0, ctx->comm);
    if (code) return io_fail_mpi(ctx->error, "MPI_Bcast", path, code);
    if (ctx->rank == 0 || status) return status;
    return io_posix_start(&io_method_posix_shared, ctx, path, schema, O_WRONLY, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return io_posix_start(&io_method_posix_shared, ctx, path, schema, O_RDONLY, file);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    for (int i = 0; i < n; i++) {
        uint64_t base = io_dataset_offset(file->schema, parts[i].dataset);
        uint64_t size = io_type_size(file->schema->datasets[parts[i].dataset].type);
        for (io_runs r = io_runs_of(file->schema, &parts[i]); io_runs_next(&r);)
            if (io_posix_move_at((io_posix_file *)file, writing, (char *)parts[i].data + r.local * size,
                                 r.length * size, base + r.global * size))
                return -1;
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

const io_method io_method_posix_shared = {
    .name = "posix-shared",
    .summary = "one shared file; each process writes its contiguous runs with pwrite",
    .extension = ".bin",
    .traits = IO_WRITES_INDEPENDENTLY | IO_JUST_DATA,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = io_posix_sync,
    .close = io_posix_close,
    .dataset_offset = io_raw_dataset_offset,
};
