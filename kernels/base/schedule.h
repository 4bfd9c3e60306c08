/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule: the file operations of each process of a recorded run, in order. `iogauge replay plan` converts
 * a trace to this format (analysis/replay/schedule.py has the same tables).
 *
 *   8 bytes     SCHEDULE_MAGIC
 *   operations  six 64-bit little-endian numbers each, process 0 first
 *   extents     three numbers each: data that must exist before the run, then data that the application left
 *               undefined; each list sorted by file and offset, without overlaps
 *   views       of files: displacement, extent, number of pieces; offset and length of each piece
 *   header      a JSON object: processes, files, and the counts of the above
 *   8 bytes     length of the header; 8 bytes SCHEDULE_END
 *
 * The contents are not trusted: each process checks what it uses. */
#ifndef IOGAUGE_SCHEDULE_H
#define IOGAUGE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data.h"
#include "base/error.h"

#define SCHEDULE_MAGIC "IOGSCHED"
#define SCHEDULE_END "IOGS-END"
#define SCHEDULE_FORMAT "iogauge.schedule/2"
#define SCHEDULE_OLDER "iogauge.schedule/1" /* without what comes after VIEW */

/* `ALL`: collective calls; `ORDERED`: too, at the shared pointer, which `SHARED` calls only ask for. `LATER`,
 * `SPLIT`: calls that end in a WAIT: for `count` of them from number `offset` on, in the order in which the
 * process makes such calls. A phase begins when all processes have finished the previous one; its `length` is
 * the pause before it, in nanoseconds. `length` of OPEN: what for (IO_OPEN_READS, IO_OPEN_WRITES; 0: as the
 * file is used). */
typedef enum {
    IO_ACT_OPEN,
    IO_ACT_CLOSE,
    IO_ACT_READ,
    IO_ACT_WRITE,
    IO_ACT_READ_ALL,
    IO_ACT_WRITE_ALL,
    IO_ACT_SYNC,
    IO_ACT_PHASE,
    IO_ACT_VIEW,
    IO_ACT_READ_LATER,
    IO_ACT_WRITE_LATER,
    IO_ACT_READ_ALL_LATER,
    IO_ACT_WRITE_ALL_LATER,
    IO_ACT_READ_SPLIT,
    IO_ACT_WRITE_SPLIT,
    IO_ACT_READ_ORDERED,
    IO_ACT_WRITE_ORDERED,
    IO_ACT_READ_SHARED,
    IO_ACT_WRITE_SHARED,
    IO_ACT_WAIT,
    IO_ACT_READ_SHARED_LATER,
    IO_ACT_WRITE_SHARED_LATER,
    IO_ACTS
} io_act_kind;

enum { IO_OPEN_READS = 1, IO_OPEN_WRITES = 2 }; /* `length` of OPEN */

typedef struct {
    bool reads, writes, collective, later;
} io_act_traits;
extern const io_act_traits io_act_is[IO_ACTS];

/* `count` accesses of `length` bytes, with a distance of `stride` bytes. `view`: the file view that they use,
 * or that is set (0: none); offsets then count the bytes visible through it. In the file it is the upper half
 * of `file`. */
typedef struct {
    uint64_t kind, file, offset, length;
    int64_t stride;
    uint64_t count, view;
} io_act;

typedef struct {
    uint64_t at, length;
} io_piece;

/* `pieces` from the displacement on, in order, repeated every `extent` bytes; `size`: their bytes. `begin`:
 * for each piece, the bytes of those before it. */
typedef struct {
    uint64_t displacement, extent, size, npieces;
    const io_piece *pieces;
    uint64_t *begin;
} io_view;

typedef struct {
    uint64_t file, start, end;
} io_extent;

/* The interface that the log recorded for a file. */
typedef enum { IO_LEVEL_POSIX, IO_LEVEL_MPI_COLLECTIVE, IO_LEVEL_MPI_INDEPENDENT, IO_LEVELS } io_level;

typedef struct {
    char *name;
    uint64_t extent; /* end of the last byte accessed */
    io_level level;
    bool read, written;
    bool by_library; /* POSIX reads by an MPI library into its own memory, on behalf of the program */
} io_schedule_file;

/* One process of the log. */
typedef struct {
    uint64_t first, acts; /* index of its first operation, and their number */
    uint64_t reads, bytes_read, writes, bytes_written;
} io_share;

typedef struct {
    char path[IO_MAX_PATH];
    char *source, *recorder; /* the log, and the program that wrote it */
    uint64_t processes, nfiles, acts, nprepared, nundefined, nviews;
    io_view *views; /* from 1 on */
    uint64_t *view_numbers;
    io_schedule_file *files;
    io_share *shares;
    io_share all;
    bool collective; /* has collective calls */
    bool reuses;     /* the program reused one buffer, as far as the sizes show */
} io_schedule;

/* Opens a schedule without reading its operations. Zeroed on failure. */
int io_schedule_open(const char *path, io_schedule *schedule, io_error *error);
void io_schedule_close(io_schedule *schedule);
/* The operations of a process, checked; the caller frees them. NULL if there are none, or on failure. */
io_act *io_schedule_acts(const io_schedule *schedule, uint64_t process, io_error *error);
/* What one piece of file holds of an access: `to` bytes of its data from `from` on lie at `place`. False
 * behind the last. */
typedef struct {
    uint64_t from, to, place;
} io_slice;
bool io_schedule_slice(const io_schedule *schedule, const io_act *act, uint64_t offset, io_slice *span);
/* Extents that must exist before the run, or (`undefined`) whose contents are undefined; the caller frees
 * them. */
io_extent *io_schedule_extents(const io_schedule *schedule, bool undefined, io_error *error);

#endif
