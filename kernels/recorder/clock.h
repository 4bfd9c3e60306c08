/* SPDX-License-Identifier: BSD-3-Clause */
/* When something happened, to be asked at every access: two questions of the clock were half of what
 * recording a small write costs. Where the kernel's own clock counts the processor's ticks (x86-64, clock
 * source `tsc`: of one rate, the same on all cores, and watched by the kernel), a moment is that count. It
 * becomes seconds by the line between two readings of both, one before and one after it: so nobody has to
 * know the rate, and no time is outside of what the clock said. Anywhere else a moment is the clock, in
 * nanoseconds. */
#ifndef RECORDER_CLOCK_H
#define RECORDER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define CLOCK_COUNT() __rdtsc()
#endif

typedef uint64_t moment;

/* A moment, the clock at it in seconds since the start, and the seconds of a tick up to the next reading. */
typedef struct {
    moment at;
    double seconds, tick;
} clock_mark;

typedef struct {
    bool ticks;
    struct timespec origin;      /* of CLOCK_MONOTONIC, where the seconds begin */
    clock_mark first, last, now; /* the first reading, and the latest two */
} recorder_clock;

/* Does the kernel's clock count ticks that this library can read? */
bool clock_has_ticks(void);
void clock_start(recorder_clock *clock, bool ticks);
/* Reads the clock, so that the moments since the last reading can be told in seconds. */
void clock_read(recorder_clock *clock);
/* Of a moment before the latest reading. Between the latest two it is as exact as they are (within a
 * microsecond); before both, as when another thread read the clock during a long call, within a thousandth
 * of how long ago it is. */
double clock_seconds(const recorder_clock *clock, moment at);
/* CLOCK_MONOTONIC since the start. */
double clock_now(const recorder_clock *clock);
uint64_t clock_nanoseconds(void);

static inline moment clock_moment(bool ticks) {
#ifdef CLOCK_COUNT
    if (ticks) return CLOCK_COUNT();
#endif
    (void)ticks;
    return clock_nanoseconds();
}

#endif
