/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers for watchdog threads. */
#ifndef IOGAUGE_WAITING_H
#define IOGAUGE_WAITING_H

#include <pthread.h>
#include <time.h>

/* Seconds of a monotonic clock. */
static inline double io_monotonic_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With the lock held: waits at most `seconds` to be woken. */
static inline void io_wait_seconds(pthread_cond_t *wake, pthread_mutex_t *lock, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    double end = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_cond_timedwait(wake, lock, &until);
}

#endif
