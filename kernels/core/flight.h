/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of one direction in flight, as the driver's files share it: phases (driver.c), and buffers, values
 * and calls (move.c). */
#ifndef IOGAUGE_FLIGHT_H
#define IOGAUGE_FLIGHT_H

#include "driver.h"

/* Its file, or one after the other of a series. */
typedef struct {
    io_session *session;
    io_ctx ctx;
    io_schema schema;
    io_file *file;
    io_part *parts;
    uint64_t owner, step;
    uint64_t number, files, calls_each, bytes_each; /* which file of the series, and what each has */
    int direction;
    char path[IO_MAX_PATH];
    double began, paused; /* on the flight's clock; seconds that this clock stood still */
    bool in_step;         /* with a reused buffer, processes begin each call together */
    io_seconds seconds;
    uint64_t calls; /* to the library, with the closing one */
} io_flight;

/* Of all durations: it stands still while values are made or checked between two calls. */
double io_flight_clock(const io_flight *f);

/* Before a file is written or read, off the clock: fills or poisons the buffer, unless it is reused. */
void io_flight_ready(io_flight *f);
/* All calls of the present file, and what they read where the buffer is reused. */
int io_flight_move(io_flight *f);
/* What was read, where the buffer still holds it. */
int io_flight_verify(io_flight *f);
/* Something is read back and compared; ceilings are only timed, and null moves nothing. */
bool io_flight_verifies(const io_flight *f);
void io_flight_stretch_bytes(io_flight *f, io_sample *sample);

#endif
