/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of method twophase. The data sets of a call are moved one after another. A data set is
 * divided into chunks at multiples of the buffer size in the file; an element belongs to the chunk that holds
 * its first byte. Chunk k belongs to aggregator k modulo the number of aggregators, which alone moves it to
 * or from the file. */
#ifndef IOGAUGE_TWOPHASE_H
#define IOGAUGE_TWOPHASE_H

#include <pthread.h>
#include <stdatomic.h>

#include "method_roles.h"
#include "methods/posix_file.h"

#define TWOPHASE_ROUNDS 16  /* maximum buffers in flight */
#define TWOPHASE_JOINED 256 /* parts; every process holds the boxes of all processes for them */
#define TWOPHASE_NEVER ((uint64_t)1 << 30) /* --straight of at least this: never */
#define TWOPHASE_SWAP_BYTES (64 << 10)     /* bytes that are byte-swapped at a time */

typedef struct twophase_file twophase_file;

/* A file format: the method that creates it, and properties of its data. */
typedef struct {
    const char *name, *maker;
    bool swapped; /* its byte order differs from this machine's */
    int (*check_schema)(const io_schema *schema, const io_choice *choice, io_error *error);
} twophase_format;

/* NULL after io_fail_usage */
const twophase_format *twophase_format_find(const char *name, io_error *error);
/* Called by one process: creates the file or opens an existing one, returns the offsets of its data sets, and
 * closes it. */
int twophase_format_place(const twophase_file *f, bool creating, uint64_t *offsets);

/* The options. */
typedef struct {
    uint64_t buffer, aggregators, rounds, share; /* aggregators, share: 0 for all */
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

/* An aggregator's control block, before its buffers in the window. Its chunk number n, from 0 since the file
 * was opened, uses buffer n modulo rounds. */
typedef struct {
    uint64_t ready; /* reading: chunks that have been read into a buffer */
    uint64_t done;  /* chunks whose buffer is free again */
    /* Per buffer: how many processes of the node have copied their shares in or out. */
    uint64_t arrived[TWOPHASE_ROUNDS];
} twophase_queue;

typedef struct {
    int rank;              /* in the file's communicator */
    twophase_queue *queue; /* NULL: on another node */
    char *buffers;
    uint64_t chunks;                      /* of earlier data sets and calls */
    MPI_Request pending[TWOPHASE_ROUNDS]; /* this process's messages to or from it */
} twophase_aggregator;

/* A process's small writes that are collected to be exchanged together. */
typedef struct {
    io_part *parts;
    int n;
    char *data;
    uint64_t used, most; /* bytes: current, and the maximum of any process */
} twophase_joined;

struct twophase_file {
    io_posix_file posix;
    const twophase *options;
    uint64_t *offsets; /* of the data sets */
    twophase_joined joined;
    char *swap_buffer; /* for byte-swapping on the way to the file */
    bool failed;       /* a file call failed; reported at the next agreement */
    uint64_t room;     /* buffer size in bytes */
    MPI_Comm node;     /* the processes that share the window */
    int node_size;
    bool *on_node;    /* for each rank: does it share the window? */
    bool single_node; /* all do */
    MPI_Win window;
    twophase_board *board;
    int oversubscribed; /* how many of the next waits sleep without yielding first */
    char *memory;       /* instead of the window, for a single process */
    twophase_aggregator *aggregators;
    int naggregators, mine; /* mine: the index of this process, or -1 */
    /* An aggregator's messages to or from processes of other nodes, one per rank. */
    char *messages;
    MPI_Request *requests;
    MPI_Status *statuses;
    bool receiving; /* writing: the messages for its next chunk have been posted */
};

/* The functions of a method's file (twophase_calls.c). */
int twophase_write(io_file *file, const io_part *parts, int n);
int twophase_read(io_file *file, const io_part *parts, int n);
int twophase_sync(io_file *file);
int twophase_close(io_file *file);
int twophase_join_start(twophase_file *f);
/* Either all continue, or all fail with the message of the first that failed. */
int twophase_agree(const twophase_file *f, int status);

/* Creates and frees the window and the aggregators' queues; collective. */
int twophase_node_start(twophase_file *f);
int twophase_node_stop(twophase_file *f);
uint64_t twophase_events(twophase_file *f); /* number of events so far; call it before looking for work */
/* Waits for another event; with several nodes only briefly, because MPI must make progress. */
void twophase_wait(twophase_file *f, uint64_t seen);
/* Call these around reading a queue, or modifying it (`change`). */
void twophase_lock(twophase_file *f);
void twophase_unlock(twophase_file *f, bool change);

/* A data set of a call, while it is moved. */
typedef struct {
    twophase_file *file;
    const io_part *parts;      /* this process's */
    const uint64_t *boxes;     /* of all processes */
    int n, stride;             /* parts of a process in this data set; in the call */
    bool writing, dense;       /* dense: every element between lo and hi has an owner */
    uint64_t base, size, swap; /* swap: size of numbers to byte-swap, or 1 */
    uint64_t lo, hi;           /* elements */
    uint64_t first, end;       /* chunks */
    uint64_t next, own;        /* next chunk with a share of this process; next chunk as aggregator */
    bool failed;               /* a file call failed; the other processes are still served */
} twophase_exchange;

/* Collective; -1 if messages failed. */
int twophase_exchange_write(twophase_exchange *w);
int twophase_exchange_read(twophase_exchange *w);

#define TWOPHASE_BOX (2 * IO_MAX_DIMS)

/* Part i of a process, without data. */
io_part twophase_box(const twophase_exchange *w, int rank, int i);
/* The elements of a chunk. */
void twophase_chunk(const twophase_exchange *w, uint64_t chunk, uint64_t *first, uint64_t *end);
/* Bytes of a rank's share of elements first to end; `at` is where they begin in that rank's data of this data
 * set. */
uint64_t twophase_share(const twophase_exchange *w, int rank, uint64_t first, uint64_t end, uint64_t *at);
/* Copies a rank's share into the buffer, in which element `first` is at `buffer`, or out of it. */
void twophase_copy(const twophase_exchange *w, int rank, uint64_t first, uint64_t end, char *buffer,
                   char *share, bool in);
/* Copies and byte-swaps numbers of `swap` bytes; `to` may equal `from`. */
void twophase_swap_bytes(uint64_t swap, char *to, const char *from, uint64_t bytes);
/* Moves the elements first to end between buffer and file; sets `failed`. */
void twophase_move_chunk(twophase_exchange *w, uint64_t first, uint64_t end, char *buffer);
/* The aggregator of a chunk and the chunk's number there; the buffer of that number. */
twophase_aggregator *twophase_place(const twophase_exchange *w, uint64_t chunk, uint64_t *number);
char *twophase_buffer(const twophase_file *f, const twophase_aggregator *a, uint64_t number);

#endif
