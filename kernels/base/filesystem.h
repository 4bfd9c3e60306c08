/* SPDX-License-Identifier: BSD-3-Clause */
/* The file system under a directory, and the page cache of files. */
#ifndef IOGAUGE_FILES_H
#define IOGAUGE_FILES_H

#include <stdio.h>

#include "base/data.h"
#include "base/error.h"

typedef struct {
    char type[64], mount[IO_MAX_PATH], device[256], options[1024];
} io_filesystem;

/* From /proc/mounts, which names the real type where statfs does not (FUSE). */
int io_filesystem_of(const char *dir, io_filesystem *fs, io_error *error);
/* The same of an absolute path, from text of /proc/mounts' form; `fs` stays where none holds it. */
void io_mount_of(const char *path, FILE *mounts, io_filesystem *fs);
bool io_filesystem_is_memory(const io_filesystem *fs);

/* The directory is there and can be written, and has room for `bytes` (0: not asked). */
int io_check_dir(const char *dir, uint64_t bytes, io_error *error);

/* Empties the page cache: of the whole node, where this user may; of one file, where the file
 * system heeds the request. Neither tells whether it worked: io_file_residency does. */
void io_drop_node_caches(void);
void io_drop_file_cache(const char *path);
/* How many bytes of the file are in memory, in pages; one that cannot be asked about is taken to be. */
void io_file_residency(const char *path, uint64_t *resident, uint64_t *bytes);

#endif
