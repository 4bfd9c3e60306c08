/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the POSIX wrappers. */
#ifndef RECORDER_POSIX_H
#define RECORDER_POSIX_H

#include "state.h"

/* `next`: the wrapped function in the next library, looked up once. Two threads may do so at once, with the
 * same result. `OTHERWISE`: what is called if the C library lacks it; NULL fails with ENOSYS. */
#define NEXT_OR(OTHERWISE, RESULT, NAME, PARAMETERS)                                                         \
    static RESULT(*next) PARAMETERS;                                                                         \
    if (!next) next = (RESULT(*) PARAMETERS)recorder_next_or(#NAME, (void *)(OTHERWISE))
#define NEXT(RESULT, NAME, PARAMETERS) NEXT_OR(NULL, RESULT, NAME, PARAMETERS)

/* Instead of an offset: the descriptor's current one, the file's end. */
enum { HERE = -1, END = -2 };

/* With the lock held. */
description *posix_description(int fd);
/* Ask the kernel, by calls that are not recorded and need not be looked up: the lock may be held. Negative if
 * it does not tell. */
int64_t posix_offset(int fd);
int64_t posix_size(int fd);

/* Each takes the lock. `result` is the call's; failed calls are not counted. */
void posix_moved(const char *call, int direction, int fd, int64_t offset, const void *memory, ssize_t result,
                 moment start);
/* In a signal's handler that interrupted this thread while it held the lock: a call is not counted. */
void posix_missed(int fd);
/* Before a read. */
void posix_first_read(int fd);
/* Before a descriptor is closed, as another thread may get its number then; NULL if it is not recorded. */
record *posix_closing(int fd);
/* After the close. */
void posix_closed(record *file, double start);
void posix_opened(const char *path, int folder, int flags, int mode, int fd, double start);
/* Calls by which processes may wait for each other: a path was looked up, a path changed. */
void posix_path(const char *path, int folder, bool looked, bool changed, double start);
/* The program has sent this descriptor elsewhere: messages go there, too, if it is stderr. */
void posix_redirected(int fd);
/* A file was truncated: with this path, or if that is NULL the descriptor's. */
void posix_cut(int fd, const char *path, int64_t to, double start);
void posix_duplicated(int fd, int copy, double start);
void posix_counted(int fd, int counter, double start);

#endif
