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
    uint64_t number, files, transfers_each, bytes_each; /* which file of the series, and what each has */
    int direction;
    char path[IO_MAX_PATH];
    double began, paused; /* on the step's clock; seconds for which that clock was stopped */
    bool in_step;         /* with a reused buffer, processes begin each transfer together */
    io_seconds seconds;
    uint64_t calls; /* to the library, with the closing one */
} io_step;

#endif
