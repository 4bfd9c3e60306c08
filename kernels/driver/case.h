/* SPDX-License-Identifier: BSD-3-Clause */
/* One measurement: the run itself, or one made beside it for comparison. */
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
    void *method_state; /* of its options */
    io_mode mode;
    io_common common;
    io_hints hints;
    const char *prefix;
    const char *own_dir; /* of files per process; NULL: common.dir */
    uint64_t steps, seed;
    uint64_t io_group;      /* files per process: one of every N processes at a time; 0: all at once */
    double compute_seconds; /* between dumps */
    bool reuse; /* one buffer for all calls, filled before each and verified after it, off the clock */
    bool drop_caches, write, read, verify;
} io_case;

/* The context of a method; `info`: the hints that MPI sees. */
io_ctx io_context(const io_case *what, io_world *world, MPI_Info info);

/* Is there a file per process, because of the method or the pattern? */
bool io_own_files(const io_case *what);
/* Where its files are: shared ones, or one per process. */
const char *io_dir(const io_case *what, bool own_files);
/* Do its files hold the data and nothing else? Record marks and text files are more. */
bool io_holds_just_data(const io_case *what);
/* How many of its own files a process handles in a step; of a schedule, all its files. */
uint64_t io_series_length(const io_case *what);
/* NULL if the pattern has none. */
const io_schedule *io_schedule_of(const io_case *what);
/* For a step, over all processes. */
uint64_t io_total_bytes(const io_case *what, uint64_t processes);
bool io_moves_nothing(const io_case *what);

/* For a method with servers: how many, and the method they write with. 0 and NULL for others. */
uint64_t io_servers(const io_case *what);
const io_method *io_method_behind(const io_case *what);

#endif
