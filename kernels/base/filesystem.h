/* SPDX-License-Identifier: BSD-3-Clause */
/* The file system of a directory, and the page cache. */
#ifndef IOGAUGE_FILES_H
#define IOGAUGE_FILES_H

#include <stdio.h>

#include "base/data.h"
#include "base/error.h"

typedef struct {
    char type[64], mount[IO_MAX_PATH], device[256], options[1024];
} io_filesystem;

/* Reads /proc/mounts, which names the real type where statfs does not (FUSE). */
int io_filesystem_of(const char *dir, io_filesystem *fs, io_error *error);
/* The same for an absolute path, from text in the format of /proc/mounts. `fs` is unchanged if no mount
 * contains the path. */
void io_mount_of(const char *path, FILE *mounts, io_filesystem *fs);
bool io_filesystem_is_memory(const io_filesystem *fs);

/* Checks that the directory exists, is writable, and has `bytes` free (0: not checked). */
int io_check_dir(const char *dir, uint64_t bytes, io_error *error);

/* Drop the page cache: of the whole node, which needs root, or of one file, if the file system supports it.
 * Neither reports success; io_file_residency shows the effect. */
void io_drop_node_caches(void);
void io_drop_file_cache(const char *path);
/* Bytes of the file in memory, in whole pages; the file size if the system cannot tell. */
void io_file_residency(const char *path, uint64_t *resident, uint64_t *bytes);

#endif
