/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a process leaves, and its messages. By system calls and without malloc(): the program may
 * end in a signal's handler, which may have interrupted the C library. */
#ifndef RECORDER_OUTPUT_H
#define RECORDER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "paths.h"

#define OUTPUT_ROOM 65536

/* `folder`, `rank`, `pid`, `random`: of the files' names (processes of several nodes or containers may have
 * one rank and pid); `device`, `inode`: of stderr at the start, if `told`; `code`: errno of what failed
 * first. */
typedef struct {
    const char *folder;
    int rank, pid, fd, code;
    unsigned random;
    bool told;
    dev_t device;
    ino_t inode;
    size_t used;
    char path[RECORDER_PATH], part[RECORDER_PATH + 8], bytes[OUTPUT_ROOM];
} output;

/* A reader must never see a part of a file: it is renamed at the end. `end`: of its name. */
void output_begin(output *to, const char *name, const char *end);
void output_put(output *to, const void *data, size_t size);
__attribute__((format(printf, 2, 3))) void output_print(output *to, const char *format, ...);
/* False if it could not be written: nothing is left then, and a message says so. */
bool output_end(output *to);
/* The content of a small file as text; its length. */
size_t output_read(const char *path, char *text, size_t room);
/* Which file is stderr: at the start, and when the program has sent it elsewhere. */
void output_learn_stderr(output *to);
/* To stderr, unless the program has closed that: its number may be another file's. */
__attribute__((format(printf, 2, 3))) void output_say(const output *to, const char *format, ...);

#endif
