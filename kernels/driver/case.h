/* SPDX-License-Identifier: BSD-3-Clause */
/* One measurement: the run itself, or a comparison measured alongside it. */
#ifndef IOGAUGE_CASE_H
#define IOGAUGE_CASE_H

#include "base/hints.h"
#include "driver/world.h"
#include "method.h"
#include "pattern.h"

typedef struct {
    const io_pattern *pattern;
    void *state;
    const io_method *method;
    void *method_state; /* state of the method's options */
    io_mode mode;
    io_common common;
    io_hints hints;
    const char *prefix;
    const char *own_dir; /* of files per process; NULL: common.dir */
    uint64_t steps, seed;
    uint64_t io_group;      /* file per process: one of every N processes at a time; 0: all at once */
    double compute_seconds; /* between dumps */
    bool reuse; /* one buffer for all calls, filled before and verified after each, off the clock */
    bool drop_caches, write, read, verify;
} io_case;

/* The context passed to a method; `info` holds the hints for MPI. */
io_ctx io_context(const io_case *what, io_world *world, MPI_Info info);

/* Is there one file per process, because of the method or the pattern? */
bool io_own_files(const io_case *what);
/* Where its files are: shared ones, or one per process. */
const char *io_dir(const io_case *what, bool own_files);
/* Do the files contain only the data? Record marks and text files add to it. */
bool io_holds_just_data(const io_case *what);
/* Files per process and step of a series; for a schedule, all its files. */
uint64_t io_series_length(const io_case *what);
/* NULL if the pattern has none */
const io_schedule *io_schedule_of(const io_case *what);
/* Per step, over all processes. */
uint64_t io_total_bytes(const io_case *what, uint64_t processes);
bool io_moves_nothing(const io_case *what);

/* Number of servers, and the method they write with, with the state of its options unless `state` is NULL;
 * 0 and NULL if the method has none. */
uint64_t io_servers(const io_case *what);
const io_method *io_method_backend(const io_case *what, void **state);

#endif
