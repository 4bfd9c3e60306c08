/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of a replay share: the loop over acts (replay.c), the calls (replay_calls.c), and bytes that
 * are made and verified (replay_bytes.c). */
#ifndef IOGAUGE_REPLAY_PARTS_H
#define IOGAUGE_REPLAY_PARTS_H

#include "driver/replay.h"

/* Every byte is a function of its file and place, and of who made it. */
enum { IO_MADE_BEFORE, IO_MADE_BY_LOG };

/* A file that a process of the log has open. */
typedef struct {
    uint64_t file;
    int fd;
    MPI_File handle;
} io_opened;

/* Where a process is: an act, and which of its calls. */
typedef struct {
    uint64_t act, call;
} io_replay_place;

/* A process of the log. */
typedef struct {
    io_act *acts;
    uint64_t n;
    io_replay_place at;
    io_opened *opened;
    uint64_t nopened, room;
} io_logged;

typedef struct {
    io_session *session;
    const io_schedule *plan;
    double think;
    io_schema schema;
    io_ctx ctx;
    MPI_Comm *comms; /* of each file that processes open together; MPI_COMM_NULL where this one does not */
    io_logged *logged;
    uint64_t first, nlogged; /* which processes of the log this one is */
    io_extent *prepared, *undefined;
    char *memory, *buffer; /* of the calls that are made together; of the present one, in it */
    char *right;           /* what a read is held against: `room` bytes, the most that a call moves */
    uint64_t room, together;
    io_file file; /* of the last access, for messages */
    io_seconds seconds;
    uint64_t calls[IO_DIRECTIONS];
} io_replaying;

/* replay_calls.c. The buffer holds an access's bytes. */
int io_replay_open(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_close(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_sync(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_move(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset);
void io_replay_forget(io_logged *l);
int io_replay_communicators(io_replaying *r);

/* replay_bytes.c */
#define IO_REPLAY_PIECE ((uint64_t)1 << 20)
int io_replay_path(io_replaying *r, uint64_t file);
void io_replay_fill(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length, int maker, void *data);
/* Data that the log reads before it writes it; by all. */
int io_replay_prepare(io_replaying *r);
/* What an access of the log has read: as the log left it, or as it was before. */
void io_replay_check_read(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length);
/* All that another process has written, as the log left it; by all, after its end. */
int io_replay_read_back(io_replaying *r);

#endif
