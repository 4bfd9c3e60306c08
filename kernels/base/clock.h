/* SPDX-License-Identifier: BSD-3-Clause */
/* Time stamps for every access. Two clock calls were half of the cost of recording a small write, so if the
 * kernel's clock counts processor ticks (x86-64, clock source `tsc`: constant rate, the same on all cores,
 * checked by the kernel), a moment is a tick count. It is converted to seconds by interpolation between
 * readings of both clocks before and after it, so the rate need not be known. Elsewhere a moment is the clock
 * in nanoseconds. */
#ifndef IOGAUGE_CLOCK_H
#define IOGAUGE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef uint64_t moment;

#if defined(__x86_64__)
#define CLOCK_COUNT() clock_count()
/* As __rdtsc(), whose header takes longer to compile than most files that need this one. */
static inline moment clock_count(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (moment)high << 32 | low;
}
#endif

/* A moment, its time in seconds since the start, and seconds per tick until the next reading. */
typedef struct {
    moment at;
    double seconds, tick;
} clock_mark;

typedef struct {
    bool ticks;
    struct timespec origin;      /* of CLOCK_MONOTONIC, where the seconds begin */
    clock_mark first, last, now; /* the first reading, and the latest two */
} io_clock;

/* Does the kernel's clock count ticks that this library can read? */
bool clock_has_ticks(void);
void clock_start(io_clock *clock, bool ticks);
/* Reads the clock, so that moments since the last reading can be converted. */
void clock_read(io_clock *clock);
/* Seconds of a moment before the latest reading. Between the latest two readings it is as exact as they are
 * (within a microsecond). Before both, when another thread read the clock during a long call, the error is at
 * most a thousandth of its age. */
double clock_seconds(const io_clock *clock, moment at);
/* CLOCK_MONOTONIC since the start. */
double clock_now(const io_clock *clock);
uint64_t clock_nanoseconds(void);

/* Unix time, and CLOCK_MONOTONIC before and after it was read, in nanoseconds. */
typedef struct {
    uint64_t before, unix_time, after;
} clock_pair;

/* Nanoseconds to add to CLOCK_MONOTONIC for Unix time: of the pair that was read with the least delay. */
int64_t clock_offset_of(const clock_pair *pairs, int n);
int64_t clock_unix_offset(void);

/* Seconds of a monotonic clock, which nobody sets. MPI_Wtime is the time of day in MPICH. */
static inline double io_monotonic_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline moment clock_moment(bool ticks) {
#ifdef CLOCK_COUNT
    if (ticks) return CLOCK_COUNT();
#endif
    (void)ticks;
    return clock_nanoseconds();
}

#endif
