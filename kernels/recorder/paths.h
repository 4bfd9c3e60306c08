/* SPDX-License-Identifier: BSD-3-Clause */
/* File names. */
#ifndef RECORDER_PATHS_H
#define RECORDER_PATHS_H

#include <stdbool.h>

#define RECORDER_PATH 4096

/* Whose file: the run's own, or of what it is compared with. */
typedef enum { STORAGE_OWN, STORAGE_CEILINGS, STORAGE_DIRECT, STORAGE_KINDS } storage_kind;

/* Makes a path absolute, without `//`, `.` and `..`; false if it is too long. */
bool path_clean(const char *path, char clean[RECORDER_PATH]);
/* Resolves a path relative to an open directory; returns `joined` or `path`. */
const char *path_at(int folder, const char *path, char joined[RECORDER_PATH]);
/* Is it below one of the directories of `include` (or is that empty), and not a probe of an MPI library? */
bool path_wanted(const char *include, const char *clean);
/* The path without a file system prefix, parsed like ROMIO. */
const char *path_without_prefix(const char *path);
storage_kind path_kind(const char *path);

#endif
