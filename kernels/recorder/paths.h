/* SPDX-License-Identifier: BSD-3-Clause */
/* File names. */
#ifndef RECORDER_PATHS_H
#define RECORDER_PATHS_H

#include <stdbool.h>

#define RECORDER_PATH 4096

/* Whose file: the run's own, or of what it is compared with. */
typedef enum { STORAGE_OWN, STORAGE_CEILINGS, STORAGE_DIRECT, STORAGE_KINDS } storage_kind;

/* A directory to record: its absolute name as given, and without symbolic links. */
typedef struct path_included {
    struct path_included *next;
    char *given, *real;
} path_included;

/* Reads directories separated by colons; none: the root. */
path_included *path_include(const char *directories);
/* Resolves a path relative to an open directory; returns `joined` or `path`. */
const char *path_at(int folder, const char *path, char joined[RECORDER_PATH]);
/* Is it below one of these directories, and not a probe of an MPI library? Then `clean` is the same for all
 * names of its folder: absolute, without `//`, `.`, `..`, and symbolic links below the directory, whose name
 * is as given. */
bool path_wanted(const path_included *include, const char *path, char clean[RECORDER_PATH]);
/* The path without a prefix that selects a driver of ROMIO, such as `ufs:`. Other names may have colons. */
const char *path_without_prefix(const char *path);
storage_kind path_kind(const char *path);

#endif
