/* SPDX-License-Identifier: BSD-3-Clause */
/* The ceilings of a file system: the same bytes per process in large aligned POSIX transfers; small accesses
 * at random places; and small files, which are only created, looked up and removed. */
#ifndef IOGAUGE_CEILINGS_H
#define IOGAUGE_CEILINGS_H

#include "driver/sample.h"
#include "driver/session.h"

/* The ceilings of one kind, over `passes`: steps, each with new files. */
typedef struct {
    uint64_t passes; /* 0: not measured */
    double seconds[IO_DIRECTIONS], bandwidth[IO_DIRECTIONS];
    double rate[IO_OPERATIONS]; /* files per second, of small files only */
} io_ceiling;

typedef struct {
    io_ceiling fpp, shared, small, files;
} io_ceilings;

/* Small accesses. */
#define IO_SMALL 4096

/* What to measure: each for at least so many seconds. */
typedef struct {
    double seconds;
    bool small; /* also small accesses and files */
} io_ceiling_choice;

/* Buffer size needed. */
uint64_t io_ceiling_buffer(const io_case *what, uint64_t bytes);
int io_measure_ceilings(const io_session *session, uint64_t bytes, const io_ceiling_choice *choice,
                        io_ceilings *ceilings);

#endif
