/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process publishes in shared memory of its node: that it makes progress, and what it is doing. The
 * guards (guard.h) read it. */
#ifndef IOGAUGE_PULSE_H
#define IOGAUGE_PULSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "driver/world.h"

struct io_pulse {
    _Atomic uint64_t moves; /* progress counter of the driver */
    _Atomic uint64_t bytes; /* bytes read and written according to the kernel, updated by its guard */
    _Atomic int at;         /* an io_place */
    _Atomic uint64_t step, repeat;
    _Atomic bool failed;                     /* `message` is set */
    _Atomic bool crashed, cleaning, cleaned; /* waits in its handler until the files of the run are removed */
    int pid, rank;                           /* rank in the whole job; pid is 0 after the process has left */
    double since;                            /* Unix time of the last progress seen by its guard */
    char phase[16], method[24], path[IO_MAX_PATH], message[sizeof((io_error *)0)->text];
};

/* What a process is doing: a call, or waiting in the driver for the others. */
typedef enum {
    IO_AT_START,
    IO_AT_OTHERS,
    IO_AT_CREATE,
    IO_AT_DEFINE,
    IO_AT_WRITE,
    IO_AT_SYNC,
    IO_AT_CLOSE,
    IO_AT_OPEN,
    IO_AT_READ,
    IO_AT_READDIR,
    IO_AT_STAT,
    IO_AT_REMOVE,
    IO_AT_FILES, /* examining them, dropping them from the cache */
    IO_AT_VALUES,
    IO_AT_COMPUTE,
    IO_AT_SERVE,
    IO_AT_DRAIN,
    IO_AT_MOVE,
    IO_AT_END,
    IO_PLACES
} io_place;

/* Marks progress: the process is now at `at`. Cheap enough between timed calls. */
static inline void io_now_at(const io_world *world, io_place at) {
    if (!world->pulse) return;
    atomic_store_explicit(&world->pulse->at, at, memory_order_relaxed);
    atomic_fetch_add_explicit(&world->pulse->moves, 1, memory_order_relaxed);
}

/* This process has failed. If the job hangs then, a guard says so. */
static inline void io_now_failed(io_pulse *pulse, const io_error *error) {
    memcpy(pulse->message, error->text, sizeof pulse->message);
    pulse->message[sizeof pulse->message - 1] = '\0';
    pulse->failed = true;
}

static inline void io_now_in_step(const io_world *world, uint64_t repeat, uint64_t step) {
    if (!world->pulse) return;
    atomic_store_explicit(&world->pulse->repeat, repeat, memory_order_relaxed);
    atomic_store_explicit(&world->pulse->step, step, memory_order_relaxed);
}

#endif
