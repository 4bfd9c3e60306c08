/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files. */
#ifndef RECORDER_PATHS_H
#define RECORDER_PATHS_H

#include <stdbool.h>

#define RECORDER_PATH 4096

/* Absolute, without `//`, `.` and `..`; false where it does not fit. */
bool path_clean(const char *path, char clean[RECORDER_PATH]);
/* Of a path relative to an open folder; `joined` or `path` itself. */
const char *path_at(int folder, const char *path, char joined[RECORDER_PATH]);
/* Below one of the folders of `include` (all where that is empty), and no MPI library's probe. */
bool path_wanted(const char *include, const char *clean);
/* Behind a file system's prefix, as ROMIO finds it. */
const char *path_without_prefix(const char *path);

#endif
