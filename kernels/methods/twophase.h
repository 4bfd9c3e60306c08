/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of method twophase share. A call's data sets go one after the other. A data set is cut at
 * multiples of the buffer's size in the file into chunks; an element belongs to the chunk in which its first
 * byte lies. Chunk k is aggregator k modulo their number's: it alone moves it to the file or from it. */
#ifndef IOGAUGE_TWOPHASE_H
#define IOGAUGE_TWOPHASE_H

#include <pthread.h>
#include <stdatomic.h>

#include "method_roles.h"
#include "methods/posix_file.h"

#define TWOPHASE_ROUNDS 16  /* most buffers in flight */
#define TWOPHASE_JOINED 256 /* parts; every process holds the boxes of all processes for them */
#define TWOPHASE_NEVER ((uint64_t)1 << 30) /* --straight of at least this: never */
#define TWOPHASE_TURNED (64 << 10)         /* bytes that are byte-swapped at a time */

typedef struct twophase_file twophase_file;

/* A file format: the method that makes it, and facts about its data. */
typedef struct {
    const char *name, *maker;
    bool swapped; /* its byte order is not the one of this machine */
    int (*check_schema)(const io_schema *schema, const io_choice *choice, io_error *error);
} twophase_format;

/* NULL after io_fail_usage. */
const twophase_format *twophase_format_find(const char *name, io_error *error);
/* Called by one process: makes the file or opens an existing one, returns the offsets of its data sets, and
 * closes it. */
int twophase_format_place(const twophase_file *f, bool creating, uint64_t *offsets);

/* The options. */
typedef struct {
    uint64_t buffer, aggregators, rounds, share; /* aggregators, share: 0 for as many as there are */
    uint64_t join, straight;
    const twophase_format *format;
    const io_method *maker, *mine;
} twophase;

/* Shared by the processes of a node, at the start of the window. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    _Atomic uint64_t events;
} twophase_board;

/* An aggregator's, in front of its buffers in the window. Chunk number n (of its own, from 0 since the file
 * was opened) is in buffer n modulo rounds. */
typedef struct {
    uint64_t ready; /* reading: chunks that have been put into a buffer so far */
    uint64_t done;  /* chunks whose buffer is free again */
    /* Of each buffer: how many of the node's processes have put in, or taken out, their shares. */
    uint64_t arrived[TWOPHASE_ROUNDS];
} twophase_queue;

typedef struct {
    int rank;              /* in the file's communicator */
    twophase_queue *queue; /* NULL: on another node */
    char *buffers;
    uint64_t chunks;                        /* of earlier data sets and calls */
    MPI_Request under_way[TWOPHASE_ROUNDS]; /* this process's messages to it, or from it */
} twophase_aggregator;

/* A process's small writes that are to be exchanged together. */
typedef struct {
    io_part *parts;
    int n;
    char *data;
    uint64_t used, most; /* bytes: what there is; what any process may have */
} twophase_joined;

struct twophase_file {
    io_posix_file posix;
    const twophase *options;
    uint64_t *offsets; /* of the data sets */
    twophase_joined joined;
    char *turned;  /* for byte-swapping on the way to the file */
    bool failed;   /* a file call failed; all hear of it at the next agreement */
    uint64_t room; /* bytes in a buffer */
    MPI_Comm node; /* the processes that share the window */
    int node_size;
    bool *near;       /* for each rank: is it one of them? */
    bool single_node; /* all are */
    MPI_Win window;
    twophase_board *board;
    int crowded;  /* so many of the next waits sleep at once */
    char *memory; /* instead of the window, for a single process */
    twophase_aggregator *aggregators;
    int naggregators, mine; /* mine: which one this process is, or -1 */
    /* An aggregator's messages from the other nodes' processes, or to them: one of each rank. */
    char *messages;
    MPI_Request *requests;
    MPI_Status *statuses;
    bool receiving; /* writing: those of its next chunk have begun */
};

/* The functions of a method's file (twophase_calls.c). */
int twophase_write(io_file *file, const io_part *parts, int n);
int twophase_read(io_file *file, const io_part *parts, int n);
int twophase_sync(io_file *file);
int twophase_close(io_file *file);
int twophase_join_start(twophase_file *f);
/* Either all continue, or all fail with the message of the first that failed. */
int twophase_agree(const twophase_file *f, int status);

/* The window, the aggregators and the way between them; by all processes together. */
int twophase_node_start(twophase_file *f);
int twophase_node_stop(twophase_file *f);
uint64_t twophase_events(twophase_file *f); /* events so far; call it before looking for work */
/* Waits for another event; with other nodes only for a moment, because MPI must make progress. */
void twophase_wait(twophase_file *f, uint64_t seen);
/* Call these around looking at a queue, or changing it (`change`). */
void twophase_lock(twophase_file *f);
void twophase_unlock(twophase_file *f, bool change);

/* A data set of a call, while it is moved. */
typedef struct {
    twophase_file *file;
    const io_part *parts;      /* this process's */
    const uint64_t *boxes;     /* everybody's */
    int n, stride;             /* parts of a process in this data set; in the call */
    bool writing, dense;       /* dense: each element between lo and hi has an owner */
    uint64_t base, size, swap; /* swap: size of numbers to byte-swap, or 1 */
    uint64_t lo, hi;           /* elements */
    uint64_t first, end;       /* chunks */
    uint64_t next, own;        /* next chunk in which this process has a share; next one as aggregator */
    bool failed;               /* a file call failed; the other processes are still served */
} twophase_way;

/* Called by all processes together; -1 if messages failed. */
int twophase_write_way(twophase_way *w);
int twophase_read_way(twophase_way *w);

#define TWOPHASE_BOX (2 * IO_MAX_DIMS)

/* Part i of a process, as a part without data. */
io_part twophase_box(const twophase_way *w, int rank, int i);
/* Elements of a chunk. */
void twophase_chunk(const twophase_way *w, uint64_t chunk, uint64_t *first, uint64_t *end);
/* Bytes of a rank's share of elements first to end; `at`: where they begin in that rank's data of this data
 * set. */
uint64_t twophase_share(const twophase_way *w, int rank, uint64_t first, uint64_t end, uint64_t *at);
/* Copies a rank's share into the buffer where element `first` stands at `buffer`, or out of it. */
void twophase_copy(const twophase_way *w, int rank, uint64_t first, uint64_t end, char *buffer, char *share,
                   bool in);
/* Copies and byte-swaps numbers of `swap` bytes; `to` may be `from`. */
void twophase_turn(uint64_t swap, char *to, const char *from, uint64_t bytes);
/* Moves the elements first to end between buffer and file; sets `failed`. */
void twophase_move_chunk(twophase_way *w, uint64_t first, uint64_t end, char *buffer);
/* The number that a chunk has with its aggregator, and its buffer. */
twophase_aggregator *twophase_place(const twophase_way *w, uint64_t chunk, uint64_t *number);
char *twophase_buffer(const twophase_file *f, const twophase_aggregator *a, uint64_t number);

#endif
