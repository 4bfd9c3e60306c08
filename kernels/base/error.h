/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors: what failed, the library's message, and what to do. */
#ifndef IOGAUGE_ERROR_H
#define IOGAUGE_ERROR_H

#include <stdbool.h>

/* The first error of this process. Later ones are consequences and are dropped. */
typedef struct {
    bool set;
    bool usage;   /* a usage error: exit status 2 */
    bool relayed; /* copied from another process; not counted again */
    char text[2048];
} io_error;

/* Replaces control characters by `?` or a space, so that a terminal does not interpret them. */
void io_replace_controls(char *text);

/* These return -1 and keep the first message. */
int io_fail(io_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int io_fail_usage(io_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int io_fail_errno(io_error *error, const char *call, const char *path, int code);
/* `path`: what the call was for; NULL if its name says so. */
int io_fail_mpi(io_error *error, const char *call, const char *path, int code);
/* Returns from the function if a call of MPI fails, with its name. */
#define IO_TRY_MPI(ERROR, PATH, CALL, ...)                                                                   \
    do {                                                                                                     \
        int io_mpi_code = CALL(__VA_ARGS__);                                                                 \
        if (io_mpi_code) return io_fail_mpi(ERROR, #CALL, PATH, io_mpi_code);                                \
    } while (0)
int io_fail_library(io_error *error, const char *call, const char *path, const char *message);

/* Prints `iokernel: error: ...` as one line, when the launcher has read what is before it. False: stderr is
 * closed. */
bool io_print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Launchers drop output that they have not forwarded when the job ends: waits until stderr is read. */
void io_wait_to_be_heard(void);

#endif
