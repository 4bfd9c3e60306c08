/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements: phases, operations on files, and the times of one repeat. */
#ifndef IOGAUGE_SAMPLE_H
#define IOGAUGE_SAMPLE_H

#include "method_roles.h"
#include "pattern.h"

typedef enum {
    IO_PHASE_CREATE,
    IO_PHASE_DEFINE,
    IO_PHASE_WRITE,
    IO_PHASE_FLUSH,
    IO_PHASE_CLOSE,
    IO_PHASE_DRAIN,
    IO_PHASE_MOVE,
    IO_PHASE_OPEN,
    IO_PHASE_READ_DEFINE,
    IO_PHASE_READ,
    IO_PHASE_READ_CLOSE,
    IO_PHASES
} io_phase;
enum { IO_WRITING, IO_READING, IO_DIRECTIONS };

/* Does the phase belong to methods with servers only? */
static inline bool io_of_servers(int phase) { return phase == IO_PHASE_DRAIN || phase == IO_PHASE_MOVE; }
/* Has a method this phase? */
static inline bool io_has_phase(const io_method *method, int phase) {
    const io_server_functions *servers = method->servers;
    return !io_of_servers(phase) || (servers && (phase == IO_PHASE_DRAIN || servers->move));
}

typedef struct {
    const char *name; /* of its direction */
    int direction;
} io_phase_name;
extern const io_phase_name io_phases[IO_PHASES];

typedef struct {
    double min, mean, max; /* seconds, over processes */
} io_time;

/* Operations on the files of a series (create: until closed, see io_pattern.creates_empty; readdir: of their
 * folder; open: with read and close); rates in files per second. */
typedef enum {
    IO_OP_CREATE,
    IO_OP_READDIR,
    IO_OP_STAT,
    IO_OP_OPEN,
    IO_OP_REMOVE,
    IO_OPERATIONS
} io_operation;
typedef struct {
    double mine;           /* seconds of this process, all steps; 0 if it did not run */
    io_time seconds, rate; /* over processes */
    double all;            /* total rate: all files divided by the time of the slowest process */
} io_operation_time;

/* Latencies of all calls of a repeat that move data, in seconds. */
typedef struct {
    int process;
    char host[64];
    double seconds, p50, p99; /* in all its calls; of each */
} io_slowest;
typedef struct {
    uint64_t calls; /* 0: not measured */
    double p50, p90, p99, p999, max;
    io_slowest slowest;
} io_call_times;

/* Measurements of one process in one step, in seconds. Only doubles, because times.c reduces it as an
 * array. */
typedef struct {
    double phase[IO_PHASES], stretch[IO_MAX_STRETCHES];
    double fill;   /* generating values; in no phase */
    double waited; /* for the slowest process of each piece; in the phase that moves data, */
    double waited_in[IO_MAX_STRETCHES]; /* and in each stretch of it */
    /* Unix time, 0 if it did not run; the last of each: the files of a series after the first. */
    double begin[IO_PHASES + 1], end[IO_PHASES + 1];
    /* By another clock, read within the phase, without the time that the step's clock stood. */
    double begun[IO_PHASES], ended[IO_PHASES];
} io_seconds;

/* One repeat, all steps. */
typedef struct {
    io_time phase[IO_PHASES];
    /* From the last process's begin to the last one's end, so at most `max` of the phase, however loaded the
     * machine. */
    double elapsed[IO_PHASES];
    io_time stretch[IO_DIRECTIONS][IO_MAX_STRETCHES];
    uint64_t stretch_bytes[IO_DIRECTIONS][IO_MAX_STRETCHES]; /* of all processes */
    uint64_t calls[IO_DIRECTIONS];                           /* library calls, of the process with the most */
    double seconds[IO_DIRECTIONS];   /* sum of the direction's phases, slowest processes */
    double in_calls[IO_DIRECTIONS];  /* of a replay: sum of the log's phases, slowest process of each */
    double fill;                     /* seconds to generate values, slowest process; in no phase */
    double bandwidth[IO_DIRECTIONS]; /* payload in MiB divided by `seconds`; 0 if nothing ran */
    io_operation_time operation[IO_OPERATIONS]; /* of patterns with a series */
    io_call_times latency[IO_DIRECTIONS];
    double between;     /* seconds from the first create to the end of writing, without `seconds` */
    io_queue_use queue; /* of a method with servers */
    uint64_t verified;  /* direct writing: bytes of all processes that were read back and verified */
} io_sample;

#endif
