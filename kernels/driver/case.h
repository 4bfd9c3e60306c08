/* SPDX-License-Identifier: BSD-3-Clause */
/* One thing to measure: the run itself, or what is measured beside it for comparison. */
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
    uint64_t steps, seed;
    uint64_t io_group;      /* files of their own: one process of each so many at a time; 0: all at once */
    double compute_seconds; /* between dumps */
    bool reuse; /* one buffer for all calls, filled before each and verified after it, off the clock */
    bool drop_caches, write, read, verify;
} io_case;

/* What a method is told; `info` are the hints that MPI may see. */
io_ctx io_context(const io_case *what, io_world *world, MPI_Info info);

/* A file for each process, because of the method or because the pattern asks for it. */
bool io_own_files(const io_case *what);
/* Have its files the data's bytes and no others? Fortran's marks and text files are more than data. */
bool io_holds_just_data(const io_case *what);
/* How many files of its own a process handles in a step; of a schedule, all its files. */
uint64_t io_series_length(const io_case *what);
/* NULL where the pattern has none. */
const io_schedule *io_schedule_of(const io_case *what);
/* Of a step, all processes. */
uint64_t io_total_bytes(const io_case *what, uint64_t processes);
bool io_moves_nothing(const io_case *what);

/* Of a method with processes of its own: how many, and what they write with. 0 and NULL for others. */
uint64_t io_servers(const io_case *what);
const io_method *io_method_behind(const io_case *what);

#endif
