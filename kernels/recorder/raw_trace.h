/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of a process, in native byte order. analysis/darshan/raw.py reads it, and its tables must
 * match. */
#ifndef RECORDER_TRACE_H
#define RECORDER_TRACE_H

#include "state.h"

#define TRACE_MAGIC "IOGTRACE"
#define TRACE_END "IOGT-END"
#define TRACE_VERSION 3

enum { TRACE_COMPLETE = 1, TRACE_PARTIAL = 2, TRACE_FORKED = 4, TRACE_MPI = 8 };

/* Followed, for each module, by the heat map's id, bin_seconds and the bins of reads and of writes; then the
 * records; then, each preceded by their number, the names of calls (NAME_ROOM bytes each), the events, and
 * the views (four words, the number of pieces, the pieces), and the shapes (the size, the shape); then
 * the eight letters of TRACE_END. `monotonic` is the time at the start on the clock shared by all processes
 * of a node. */
typedef struct {
    char magic[8];
    uint32_t version, flags;
    int32_t rank, processes;
    int64_t pid, uid, start_seconds, start_nanoseconds, monotonic_seconds, monotonic_nanoseconds;
    double seconds;
    uint32_t records, posix_counters, mpiio_counters, time_counters, bins, modules;
    char host[64], library[128], command[1024];
} trace_header;

/* Followed by the path, the counters, the times, the pairs of value and count of sizes and of strides, the
 * segments of reads and of writes, and a mark for each segment. */
typedef struct {
    uint64_t id, segments[DIRECTIONS];
    uint32_t module, path, sizes, strides;
} trace_record;

#define NAME_ROOM 48

typedef struct {
    int64_t at;
    uint32_t sequence, call; /* call: index of its name */
} trace_mark;

/* False if it could not. */
bool trace_write(recorder *from);

#endif
