/* SPDX-License-Identifier: BSD-3-Clause */
/* What each process of a recorded run did to its files, in order: a file that `iogauge
 * replay plan` makes of a trace (analysis/replay/schedule.py writes it, and has the same tables).
 *
 *   8 bytes  SCHEDULE_MAGIC
 *   acts     six 64-bit little-endian numbers each, those of process 0 first
 *   extents  three each: first what must be there beforehand, then what the application left undefined; each
 *            list in the order of files and places, no two of which overlap
 *   a JSON object: processes, files, how many of all these
 *   8 bytes  its length; 8 bytes SCHEDULE_END
 *
 * Nothing of it is believed: what a process is about to use, it checks first. */
#ifndef IOGAUGE_SCHEDULE_H
#define IOGAUGE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data.h"
#include "base/error.h"

#define SCHEDULE_MAGIC "IOGSCHED"
#define SCHEDULE_END "IOGS-END"
#define SCHEDULE_FORMAT "iogauge.schedule/1"

/* `all`: the collective call. A phase begins when all processes have ended the one before; `length` is for
 * how many nanoseconds they did something else then. */
typedef enum {
    IO_ACT_OPEN,
    IO_ACT_CLOSE,
    IO_ACT_READ,
    IO_ACT_WRITE,
    IO_ACT_READ_ALL,
    IO_ACT_WRITE_ALL,
    IO_ACT_SYNC,
    IO_ACT_PHASE,
    IO_ACTS
} io_act_kind;

/* `count` accesses of `length` bytes, each `stride` bytes behind the one before it. */
typedef struct {
    uint64_t kind, file, offset, length;
    int64_t stride;
    uint64_t count;
} io_act;

typedef struct {
    uint64_t file, start, end;
} io_extent;

/* The calls that the log has for a file. */
typedef enum { IO_LEVEL_POSIX, IO_LEVEL_MPI_TOGETHER, IO_LEVEL_MPI_ALONE, IO_LEVELS } io_level;

typedef struct {
    char *name;
    uint64_t extent; /* one past the last byte that is touched */
    io_level level;
    bool read, written;
    bool by_library; /* POSIX reads by an MPI library on behalf of the program, into its own memory */
} io_schedule_file;

/* Of one process of the log. */
typedef struct {
    uint64_t first, acts; /* of all acts */
    uint64_t reads, bytes_read, writes, bytes_written;
} io_share;

typedef struct {
    char path[IO_MAX_PATH];
    char *source, *recorder; /* the log, and what wrote it */
    uint64_t processes, nfiles, acts, nprepared, nundefined;
    io_schedule_file *files;
    io_share *shares;
    io_share all;
    bool collective; /* somewhere in it */
    bool reuses;     /* its data was in one buffer, as far as the sizes show */
} io_schedule;

/* The schedule without its acts. Zeroed on failure. */
int io_schedule_open(const char *path, io_schedule *schedule, io_error *error);
void io_schedule_close(io_schedule *schedule);
/* The acts of a process, checked; the caller frees them. NULL if there are none, or after io_fail. */
io_act *io_schedule_acts(const io_schedule *schedule, uint64_t process, io_error *error);
/* Extents that must exist before the run, or that are undefined; the caller frees them. */
io_extent *io_schedule_extents(const io_schedule *schedule, bool undefined, io_error *error);

#endif
