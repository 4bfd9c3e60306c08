/* SPDX-License-Identifier: BSD-3-Clause */
/* The embedded recorder: a preloaded library that counts, per process and file, what Darshan's POSIX and
 * MPI-IO modules count, and writes one small trace per process. analysis/darshan/convert.py makes a
 * Darshan log of them. See docs/darshan.md.
 *
 * An interposed library has no caller that could pass it a context, so this is the only place in the kernels
 * with a static object (recorder.c); all other code gets it by pointer. From the bottom: clock.c, paths.c and
 * record.c (counting); recorder.c, memory.c and output.c; events.c, posix.c and mpi_view.c; raw_trace.c and
 * recording.c (start and end); the wrappers. */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "counters.h"
#include "paths.h"

#define EXPORT __attribute__((visibility("default")))

/* As in the Darshan runtime, so that the counters agree, except for the first bin width: its 0.1 s is too
 * coarse for short runs. */
#define MEMORY_ALIGNMENT 8
#define COMMON_KEPT 32 /* distinct sizes and strides in a record */
#define BINS 200
#define FIRST_BIN_SECONDS 0.01

enum { MODULE_POSIX, MODULE_MPIIO, MODULES };
enum { RECORD_READ, RECORD_WRITE, DIRECTIONS };
/* STAT and REMOVE: by path; FLUSH: fsync after writing; CREATE: by path. */
enum { OPERATION_STAT, OPERATION_REMOVE, OPERATION_FLUSH, OPERATION_CREATE, OPERATIONS };
enum { NO_IO = -1 };

typedef struct {
    int64_t value[COMMON_KEPT], count[COMMON_KEPT];
    int used;
} common_values;

typedef struct {
    int64_t offset, length; /* offset: -1 if the library does not tell */
    double start, end;
} segment;

/* More about a segment: `at` is the offset as given by the caller, in elements of its file view (-1: none);
 * its number among all recorded by this process; the name of the call. */
typedef struct {
    int64_t at;
    uint32_t sequence;
    const char *call;
} segment_mark;

typedef struct {
    segment *entry;
    segment_mark *mark; /* one per entry */
    size_t used, room;
} segments;

/* What one process did to one file through one module. */
typedef struct record {
    struct record *next; /* of the same bucket */
    struct record *all;  /* of all */
    char *path;
    int module, last_io;
    storage_kind kind;
    bool locked, unflushed, nfs, created; /* locked: what a close ends; created: and not removed since */
    unsigned changes;                     /* by recorder_flip() */
    int64_t called[OPERATIONS];
    int64_t counter[POSIX_COUNTERS]; /* MPI-IO has fewer */
    double time[TIME_COUNTERS];
    int64_t last_byte[DIRECTIONS];
    double last_end[DIRECTIONS], last_meta_end;
    common_values sizes, strides;
    segments trace[DIRECTIONS];
} record;

typedef struct {
    double bin_seconds;
    int64_t bytes[DIRECTIONS][BINS];
} heatmap;

/* One access, as both modules see it. */
typedef struct {
    int direction;
    int64_t size, offset, at;
    const char *call;
    double start, end;
} access_info;

/* An access that is not counted yet. */
typedef struct {
    record *file;
    const char *call;
    moment start, end;
    int64_t size, offset, at;
    int direction;
} waiting;

/* Read by every call, so not hidden behind a function; only recorder.c and recording.c change it. */
typedef struct {
    atomic_bool on;
    bool ticks;
} recorder_switches;
extern recorder_switches recorder_switch __attribute__((visibility("hidden")));

/* How often this thread holds the lock: once more in a signal's handler that interrupted it. */
extern _Thread_local int recorder_holds __attribute__((tls_model("initial-exec")));

/* Is recording on? Not before the library's constructor has run, after the trace is written, or without a
 * directory for it. Nor in a handler that interrupted this thread while it held the lock. */
static inline bool recorder_on(void) {
    return atomic_load_explicit(&recorder_switch.on, memory_order_relaxed) && !recorder_holds;
}
/* The same, with the lock held: it may have ended before this thread got it. */
static inline bool recorder_goes_on(void) {
    return atomic_load_explicit(&recorder_switch.on, memory_order_relaxed) && recorder_holds == 1;
}
/* The cheapest time stamp for the start or end of an access. */
static inline moment recorder_moment(void) { return clock_moment(recorder_switch.ticks); }
bool recorder_wants_segments(void);
/* Seconds since the start of this process's recording. */
double recorder_now(void);
/* Takes the lock and counts all accesses seen so far. */
void recorder_lock(void);
/* Only for recorder_wait(): does not count queued accesses. */
void recorder_lock_for_access(void);
void recorder_unlock(void);
/* Something was lost: marks the log as partial. */
void recorder_partial(void);

/* With the lock held. The record of a file, new if needed. NULL for files that are not recorded: outside the
 * selected directories, or internal to an MPI library. Relative paths, and paths with a file system prefix
 * (`ufs:`), are resolved like the process or its MPI library does. */
record *recorder_record(int module, const char *path);
record *recorder_known(int module, const char *path);
/* With either lock held: queues an access. Many are counted together, because a system call may have evicted
 * from the cache what counting needs, and because the clock is then read once for all. */
void recorder_wait(const waiting *access);
void record_open(record *r, double start, double end);
void record_close(record *r, double start, double end);
/* Adds the part of an interval that was not counted yet: threads overlap. */
void record_time(double *total, double *last, double start, double end);

/* Darshan's identifier of a file: a hash of its path. */
uint64_t record_id(const char *path);

/* recording.c. The rank of this process, and the end of the recording. */
void recorder_set_process(int rank, int processes);
void recorder_finish(bool complete);

/* The next definition of a function after this library; aborts if there is none. */
void *recorder_next(const char *name);
/* The same of the C library, which may be older than a function: then `otherwise`, or if that is NULL one
 * that fails with ENOSYS. */
void *recorder_next_or(const char *name, void *otherwise);
/* The definition that `caller` uses; NULL if there is none. */
void *recorder_next_of(const void *caller, const char *name);
/* A name in the library of a function, or in one that it needs. */
void *recorder_beside(const void *function, const char *name);
/* Is the MPI that `caller` calls the one that (`there`, or not) has the name `other`, too? If others are
 * loaded beside it, it is the one that the program, or else the caller, is linked with; from then on its
 * functions are called. */
bool recorder_takes_mpi(const void *caller, const char *other, bool there);

/* Nesting of wrapped calls in a thread: calls that a library makes inside a counted one are not counted. From
 * RECORDER_ASKS on, nothing is: this asks the library. */
#define RECORDER_ASKS 65536
extern _Thread_local int recorder_depth __attribute__((tls_model("initial-exec")));
/* A call begins, in this frame; returns the depth to set when it ends. A call that longjmp() or an exception
 * of C++ has left is none any more. */
int recorder_begin(const void *frame);

#endif
