/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers for watchdog threads. */
#ifndef IOGAUGE_WAITING_H
#define IOGAUGE_WAITING_H

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

/* Waits end even if the time of day is set back. */
static inline void io_wait_init(pthread_cond_t *wake) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* With the lock held: waits at most `seconds` to be woken. */
static inline void io_wait_seconds(pthread_cond_t *wake, pthread_mutex_t *lock, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double end = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_cond_timedwait(wake, lock, &until);
}

#endif
