/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver: it alone holds the clock, fills, verifies and decides which process reads what. */
#ifndef IOGAUGE_DRIVER_H
#define IOGAUGE_DRIVER_H

#include "files.h"
#include "pattern.h"
#include "values.h"
#include "world.h"

typedef enum {
    IO_CREATE,
    IO_DEFINE,
    IO_WRITE,
    IO_FLUSH,
    IO_CLOSE,
    IO_DRAIN,
    IO_OPEN,
    IO_READ_DEFINE,
    IO_READ,
    IO_READ_CLOSE,
    IO_PHASES
} io_phase;
enum { IO_WRITING, IO_READING, IO_DIRECTIONS };

typedef struct {
    const char *name; /* within its direction */
    int direction;
} io_phase_name;
extern const io_phase_name io_phases[IO_PHASES];

typedef struct {
    double min, mean, max; /* seconds, over processes */
} io_time;

/* What is done to each file of a series (create: to its close; open: read and close too); rates in files a
 * second. */
typedef enum { IO_OP_CREATE, IO_OP_STAT, IO_OP_OPEN, IO_OP_REMOVE, IO_OPERATIONS } io_operation;
typedef struct {
    double mine;           /* seconds of this process, all steps; 0 where it did not run */
    io_time seconds, rate; /* over processes */
    double all;            /* rate of all together: their files over the slowest process's seconds */
} io_operation_time;

/* What one process measured in one step, in seconds. Only doubles: reduced as an array (times.c). */
typedef struct {
    double phase[IO_PHASES], stretch[IO_MAX_STRETCHES];
    double fill; /* to make the values; in no phase */
    /* Unix time, 0 where it did not run; the last of each: the files of a series after the first. */
    double begin[IO_PHASES + 1], end[IO_PHASES + 1];
} io_seconds;

/* One repeat, all steps. */
typedef struct {
    io_time phase[IO_PHASES];
    io_time stretch[IO_DIRECTIONS][IO_MAX_STRETCHES];
    uint64_t stretch_bytes[IO_DIRECTIONS][IO_MAX_STRETCHES]; /* of all processes */
    uint64_t calls[IO_DIRECTIONS];              /* to the library, by the process that made most */
    double seconds[IO_DIRECTIONS];              /* sum of the direction's phases, slowest processes */
    double fill;                                /* seconds to make the values, slowest process; in no phase */
    double bandwidth[IO_DIRECTIONS];            /* MiB/s of the payload over that; 0 where nothing ran */
    io_operation_time operation[IO_OPERATIONS]; /* of patterns with a series */
    double between;     /* seconds from the first creating to the end of writing, without `seconds` */
    io_queue_use queue; /* of a method with servers */
} io_sample;

/* One thing to measure: the run itself, or a ceiling beside it. */
typedef struct {
    const io_pattern *pattern;
    void *state;
    const io_method *method;
    void *method_state;
    io_mode mode;
    const io_hints *hints;
    MPI_Info info;
    const char *dir, *prefix;
    uint64_t steps, seed, io_group;
    double compute_seconds; /* between dumps */
    bool reuse; /* one buffer for all calls, filled before each and verified after it, off the clock */
    bool fsync, drop_caches;
} io_case;

/* What a run leaves behind besides its samples (evidence.h). */
typedef struct io_found io_found;

typedef struct {
    io_world *world;
    const io_case *what;
    char *buffer; /* this process's data of one step, or of a piece of it */
    uint64_t repeat;
    bool write, read, verify, keep;
    bool own_files;  /* each process has files of its own; io_measure sets it */
    double began;    /* when the repeat's first file was about to be created; 0: not yet */
    uint64_t stored; /* bytes of the files that this process looked at */
    io_found *found; /* NULL for ceilings: nothing is verified or recorded */
} io_session;

/* Runs one repeat. On failure the files are removed unless `keep`. */
int io_measure(io_session *session, io_sample *sample);

/* Removes what this process can of the run's files, asking nobody: for a process that ends the job. */
void io_remove_files(io_session *session);

/* move.c: the bytes that a process's buffer must have for an owner's data. */
int io_buffer_bytes(const io_case *what, uint64_t owner, uint64_t *bytes, io_error *error);
uint64_t io_total_bytes(const io_pattern *pattern, const void *state, uint64_t processes);

/* times.c, called by all: minimum, mean and maximum over processes of a step, added to a direction's; and
 * when its phases were, into what the session found. */
void io_add_times(const io_session *session, io_sample *sample, const io_seconds *mine, int direction);
/* Unix time in seconds, as traces have it: not for measuring. */
double io_wall_clock(void);

/* ceilings.c: the same bytes per process in large aligned POSIX transfers. */
typedef struct {
    io_sample fpp, shared;
} io_ceilings;
/* Bytes of a buffer that suffices for them. */
uint64_t io_ceiling_buffer(const io_case *what, uint64_t bytes);
int io_measure_ceilings(const io_session *session, uint64_t bytes, io_ceilings *ceilings);
/* direct.c: the same data written by the method that stands behind the run's; sample: only the writing. */
int io_measure_direct(const io_session *session, io_sample *sample);

#endif
