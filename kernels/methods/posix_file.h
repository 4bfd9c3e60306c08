/* SPDX-License-Identifier: BSD-3-Clause */
/* A POSIX file; every call is checked, counted and repeated until all bytes have moved. */
#ifndef IOGAUGE_POSIX_FILE_H
#define IOGAUGE_POSIX_FILE_H

#include "method.h"

typedef struct {
    io_file base;
    int fd;
} io_posix_file;

/* Opens with `flags` and mode 0666; *file is set only on success. */
int io_posix_start(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   int flags, io_file **file);
/* Moves exactly `bytes` bytes, to the file or from it. */
int io_posix_move_at(io_posix_file *file, bool writing, void *data, uint64_t bytes, uint64_t offset);
/* Reports that the file ends before `data_end`, the end of its data. */
int io_posix_cut(io_posix_file *file, const char *call, uint64_t data_end);
int io_posix_sync(io_file *file);
int io_posix_close(io_file *file);

/* In a canonical raw file: data sets back to back. */
int io_raw_dataset_offset(io_file *file, int dataset, uint64_t *offset);
/* Is the file large enough for all data sets? */
int io_raw_check_size(const io_ctx *ctx, const char *path, const io_schema *schema, uint64_t size);

#endif
