/* SPDX-License-Identifier: BSD-3-Clause */
/* One step in one direction, shared by the phases (driver.c) and the transfers (move.c). */
#ifndef IOGAUGE_STEP_H
#define IOGAUGE_STEP_H

#include "driver/sample.h"
#include "driver/session.h"

/* Its file, or the current one of a series. */
typedef struct {
    io_session *session;
    io_ctx ctx;
    io_schema schema;
    io_file *file;
    io_part *parts;
    uint64_t owner, step;
    uint64_t number, files, transfers_each,
        bytes_each; /* index in the series; number of files, and the transfers and bytes of each */
    int direction;
    char path[IO_MAX_PATH];
    double began, paused; /* start on the step's clock; seconds during which that clock was stopped, */
    double stood;         /* and at the beginning of the phase */
    bool shared;          /* a file of all processes */
    io_part *held;        /* read, and not yet verified: so many parts, with room for more, and bytes */
    size_t nheld, held_room;
    uint64_t held_bytes;
    io_seconds seconds;
    uint64_t calls; /* library calls, including close */
} io_step;

#endif
