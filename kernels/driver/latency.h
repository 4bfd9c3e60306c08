/* SPDX-License-Identifier: BSD-3-Clause */
/* How long each call of a method takes that moves data: one histogram per direction and process, merged over
 * processes. Calls follow each other so closely that one reading of the clock ends a call and begins the
 * next.
 */
#ifndef IOGAUGE_LATENCY_H
#define IOGAUGE_LATENCY_H

#include <hdr/hdr_histogram.h>

#include "base/clock.h"
#include "driver/sample.h"
#include "driver/session.h"

enum { IO_CALLS_WAITING = 64 };

/* `lasted`: of calls that are not in a histogram yet. A system call evicts from the cache what counting
 * needs, so many are counted together. */
struct io_latency {
    io_clock clock;
    double tick; /* seconds */
    moment began, lasted[IO_CALLS_WAITING];
    int direction[IO_CALLS_WAITING], waiting;
    double seconds[IO_DIRECTIONS]; /* sum of all calls */
    struct hdr_histogram *calls[IO_DIRECTIONS];
};

/* NULL with the error set if out of memory. */
io_latency *io_latency_new(io_error *error);
void io_latency_free(io_latency *latency);

/* A repeat begins. */
void io_latency_clear(io_latency *latency);
void io_latency_add(io_latency *latency, int direction, double seconds);
/* Counts the calls that wait for it. */
void io_latency_count(io_latency *latency);
/* After the repeat, on all processes: the figures of all of them. */
int io_latency_reduce(const io_session *session, io_sample *sample);

/* The next call begins now; needed only if anything but a call came before it. NULL: not measured. */
static inline void io_latency_begin(io_latency *l) {
    if (l) l->began = clock_moment(l->clock.ticks);
}

static inline void io_latency_end(io_latency *l, int direction) {
    if (!l) return;
    moment now = clock_moment(l->clock.ticks);
    l->direction[l->waiting] = direction;
    l->lasted[l->waiting++] = now - l->began;
    if (l->waiting == IO_CALLS_WAITING) {
        io_latency_count(l);
        now = clock_moment(l->clock.ticks);
    }
    l->began = now;
}

#endif
