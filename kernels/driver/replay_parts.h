/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the replay: the loop over operations (replay.c), the calls (replay_calls.c), those
 * that end in others (replay_later.c), and generating and verifying data (replay_bytes.c). */
#ifndef IOGAUGE_REPLAY_PARTS_H
#define IOGAUGE_REPLAY_PARTS_H

#include "driver/replay.h"

/* A byte depends on its file, its offset and on who wrote it. */
enum { IO_MADE_BEFORE, IO_MADE_BY_LOG };

/* A file that a recorded process has open. */
typedef struct {
    uint64_t file;
    int fd;
    MPI_File handle;
    bool writes;
} io_opened;

/* An access that ends in another call. `data`: NULL once it has. */
typedef struct {
    const io_act *act;
    uint64_t offset;
    char *data;
    MPI_Request request;
} io_later;

/* What was read from storage, and is verified later (replay_held.c). `alone`: in separate memory. */
typedef struct {
    const io_act *act;
    uint64_t offset;
    char *data;
    bool alone;
} io_held;

/* Where a batch of calls ends, besides at the end of the memory: nowhere; before a collective call; after one
 * call. */
typedef enum { IO_PACE_FREE, IO_PACE_APART, IO_PACE_ONE } io_pace;

/* The position of a process: an operation, and one of its calls. */
typedef struct {
    uint64_t act, call;
} io_replay_place;

/* A recorded process. */
typedef struct {
    io_act *acts;
    uint64_t n;
    io_replay_place at;
    io_opened *opened;
    uint64_t nopened, room;
    io_later *later; /* `made` ones have data, `begun` ones were called, `running` ones have not ended */
    uint64_t made, begun, running, later_room;
    uint64_t ended; /* the number of the first in `later` */
} io_logged;

typedef struct {
    io_session *session;
    const io_schedule *plan;
    double think;
    io_schema schema;
    io_ctx ctx;
    MPI_Comm *comms; /* per collectively opened file; MPI_COMM_NULL on processes that do not open it */
    io_logged *logged;
    uint64_t first, nlogged; /* the recorded processes that this process replays */
    io_extent *prepared, *undefined;
    char *memory, *buffer; /* memory of a batch of calls; the current call's part of it */
    char *expected;        /* of a read: `room` bytes, the largest call */
    uint64_t room, batch, memory_bytes;
    io_held *held;
    uint64_t nheld, held_room, hold;  /* `hold`: bytes to read before they are verified; 0: each batch is */
    uint64_t held_bytes, held_memory; /* `held_memory`: at the beginning of the memory */
    io_file file;                     /* of the last access, for messages */
    uint64_t named;                   /* the number of that file, from 1 on */
    io_pace pace;
    int *movers; /* of each file: how many processes move data of it in this phase */
    int *users;  /* of each file: how many processes open it */
    io_seconds seconds;
    double waited[IO_DIRECTIONS]; /* for the slowest process of each step */
    uint64_t calls[IO_DIRECTIONS];
    uint64_t phase, nphases;        /* of the log */
    double (*spent)[IO_DIRECTIONS]; /* seconds of this process in calls, by phase of the log */
} io_replaying;

/* replay_calls.c. The buffer holds the data of an access. */
int io_replay_open(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_close(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_view(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_sync(io_replaying *r, io_logged *l, const io_act *act);
int io_replay_move(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset);
void io_replay_forget(io_logged *l);
int io_replay_communicators(io_replaying *r);

/* replay_opened.c */
io_opened *io_replay_find(io_logged *l, uint64_t file);
/* The seconds since `began` were spent in a call; in one that moved data. */
double io_replay_add_time(io_replaying *r, io_phase phase, double began);
void io_replay_add_move(io_replaying *r, bool writing, double began);

/* replay_later.c. `make`: sets the buffer, in which the caller generates the data. */
int io_replay_later_make(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset);
int io_replay_later_begin(io_replaying *r, io_logged *l, MPI_File f);
int io_replay_wait(io_replaying *r, io_logged *l, const io_act *act);
/* Fails if a call is in progress for the file that is closed; NULL: for any, at the end. */
int io_replay_none_left(io_replaying *r, const io_logged *l, const io_act *closing);
void io_replay_later_forget(io_logged *l);

/* replay_batch.c. What to do with an access; its data is in the buffer. */
typedef int io_replay_visitor(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset);
io_replay_visitor io_replay_make_data, io_replay_check_data;
bool io_replay_moves(const io_act *act);
bool io_replay_in_phase(const io_logged *l, const io_replay_place *at);
bool io_replay_is_collective(const io_replaying *r, const io_act *act);
int io_replay_batch(io_replaying *r, io_logged *l, io_replay_place *at, bool acting, io_replay_visitor *each);

/* replay_held.c. Verifies an access whose data is in the buffer, or holds it. `alone`: and frees the buffer.
 */
int io_replay_verify(io_replaying *r, const io_act *act, uint64_t offset, bool alone);
/* Is enough held for verifying it? Not while a batch has data in memory, unless it is being verified. */
bool io_replay_has_enough(const io_replaying *r);
int io_replay_check_held(io_replaying *r);

/* replay_step.c. `made`: the data of the first batch has been generated. */
bool io_replay_must_be_in_step(io_replaying *r);
int io_replay_in_step(io_replaying *r, io_logged *l, bool made);

/* replay_bytes.c */
#define IO_REPLAY_PIECE ((uint64_t)1 << 20)
int io_replay_path(io_replaying *r, uint64_t file);
void io_replay_fill(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length, int maker, void *data);
/* Creates data that the log reads before writing it, and files that are opened for reading in the phase in
 * which they are created; called by all. */
int io_replay_prepare(io_replaying *r);
/* For each piece of a call's data, at its place in the file. */
typedef void io_replay_piece(io_replaying *r, uint64_t file, uint64_t place, uint64_t length);
void io_replay_each_piece(io_replaying *r, const io_act *act, uint64_t offset, io_replay_piece *each);
/* Verifies what an access has read: data that the log wrote, or that existed before the run. */
void io_replay_check(io_replaying *r, const io_act *act, uint64_t offset);
/* Reads back what another process wrote; called by all, after the end of the log. */
int io_replay_read_back(io_replaying *r);

#endif
