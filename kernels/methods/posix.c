/* SPDX-License-Identifier: BSD-3-Clause */
/* posix: a file per process, its parts one after another; Fortran records if the pattern requires them. */
#include <fcntl.h>

#include "methods/records.h"

extern const io_method io_method_posix;

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return io_posix_start(&io_method_posix, ctx, path, schema, O_CREAT | O_TRUNC | O_WRONLY, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return io_posix_start(&io_method_posix, ctx, path, schema, O_RDONLY, file);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    if (file->schema->records) return io_records_move((io_posix_file *)file, parts, n, writing);
    for (int i = 0; i < n; i++)
        if (io_posix_move_at((io_posix_file *)file, writing, parts[i].data,
                             io_part_bytes(file->schema, &parts[i]), parts[i].offset))
            return -1;
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int locate(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset) {
    (void)index;
    *offset = file->schema->records
                  ? io_records_offset(file->schema, part, local)
                  : part->offset + local * io_type_size(file->schema->datasets[part->dataset].type);
    return 0;
}

const io_method io_method_posix = {
    .name = "posix",
    .summary = "a file per process, written with pwrite",
    .extension = ".bin",
    .traits = IO_FILE_PER_PROCESS | IO_WRITES_INDEPENDENTLY | IO_JUST_DATA,
    .create = create,
    .open = open_existing,
    .write = write_parts,
    .read = read_parts,
    .sync = io_posix_sync,
    .close = io_posix_close,
    .locate = locate,
};
