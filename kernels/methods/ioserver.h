/* SPDX-License-Identifier: BSD-3-Clause */
/* ioserver, shared by its parts: the messages between clients and servers, and the state of each side.
 *
 * A client sends a header and, if the header announces data, a second message with it. The only flow control
 * is that a server receives data when its queue has room: the receive is the credit. */
#ifndef IOGAUGE_IOSERVER_H
#define IOGAUGE_IOSERVER_H

#include "method_roles.h"

enum { HEADER_TAG = 1, BYTES_TAG, NEWS_TAG };
typedef enum {
    REQUEST_CREATE,
    REQUEST_WRITE,
    REQUEST_SYNC,
    REQUEST_CLOSE,
    REQUEST_DRAIN,
    REQUEST_MOVE,
    REQUEST_UNDO,
    REQUEST_STOP
} request_kind;

typedef struct {
    request_kind request;
    bool keep;      /* stop */
    int status;     /* stop */
    uint64_t file;  /* index of the file, in the order in which clients create files */
    uint64_t bytes; /* size of the message that follows; 0: none */
    io_part part;   /* write */
} header;

/* From a server: the answer to a drain, a move or an undo, or a failure. */
typedef struct {
    bool failed, undone;
    io_queue_use use;
    io_error error;
} news;

/* A message being sent by a client. */
typedef struct {
    header head;
    MPI_Request requests[2];
    char *copy; /* of the data, with --send copy */
} slot;
#define SLOTS 4
#define PIECE                                                                                                \
    ((uint64_t)4 << 20) /* maximum data of a message, so that no call occupies a server for long             \
                         */

typedef struct {
    /* The options. */
    uint64_t processes, limit;
    bool copy;
    const char *local;             /* the folder of each node to write into; NULL: at once in place */
    const char *inner_name;        /* as given; NULL: the default */
    const io_method *inner, *mine; /* mine: the run's copy of this method */
    void *inner_state;             /* the inner method's options, which have their defaults */
    /* After start. */
    MPI_Comm link;
    int nclients, *clients; /* server: ranks of all clients in `link`, its own first */
    int nmine;              /* server: number of its clients; client: number of its servers */
    int *servers;           /* client: their ranks */
    uint64_t piece;
    /* Client. */
    slot slots[SLOTS];
    unsigned next;
    uint64_t created;
    int answered; /* servers that have answered since the last drain */
    io_queue_use use;
} ioserver;

/* ioserver_wire.c. Serializes a schema, after the path of its file; NULL if out of memory. */
void *ioserver_pack(const char *path, const io_schema *schema, uint64_t *bytes);
/* Deserializes it. The schema's pointers point into `packed`, which begins with the path. Every data set is
 * marked for independent calls, which servers use. */
void ioserver_unpack(void *packed, io_schema *schema);

/* Splits a part into hyperslabs that are contiguous in memory. */
typedef struct {
    const io_schema *schema;
    const io_part *part;
    uint64_t most, at; /* bytes per piece; elements done */
} pieces;
bool ioserver_next_piece(pieces *pieces, io_part *piece);

/* ioserver_queue.c: entries in order of arrival, with their data in one arena of `limit` bytes. */
typedef struct entry {
    struct entry *next;
    header head;
    int client;
    void *data;     /* of head.bytes */
    uint64_t spent; /* bytes used in the arena, including any skipped at its end; 0: on the heap */
} entry;
typedef struct {
    char *arena;
    uint64_t limit, begin, end, used, peak; /* a ring buffer: used from begin to end, with wrap-around */
    entry *first, **last;
} queue;
int ioserver_queue_start(queue *q, uint64_t limit);
void ioserver_queue_stop(queue *q);
/* Appends an entry with room for its data; false if there is no room yet. Only data counts: the few bytes of
 * a schema are allocated on the heap. */
bool ioserver_queue_add(queue *q, const header *head, int client, entry **added);
/* Drops the first entry. */
void ioserver_queue_drop(queue *q);

/* ioserver_send.c: the client side. Failures are set in ctx->error; a server's failure is reported as soon as
 * it is known, whatever the client is waiting for. */
int ioserver_send_start(const io_ctx *ctx);
int ioserver_send(const io_ctx *ctx, int server, const header *head, const void *bytes);
int ioserver_wait_sent(const io_ctx *ctx);                       /* until all data has left */
int ioserver_wait_answers(const io_ctx *ctx, io_queue_use *use); /* to a drain, from all its servers */

/* With --local after a failure: until its servers have removed their files; but a server may hang. */
void ioserver_undo(const io_ctx *ctx);

/* ioserver_move.c: a file of a server in its node's folder. */
typedef struct {
    char from[IO_MAX_PATH], copy[IO_MAX_PATH]; /* copy: its path while it is made, else "" */
    int in, out;                               /* -1: not open */
} moving;
/* A new folder in --local, for this server alone. */
int ioserver_make_folder(const io_ctx *ctx, char folder[IO_MAX_PATH]);
/* Sets the name to write to. */
void ioserver_moving_start(moving *m, const char *folder, uint64_t number, int client);
/* Moves a piece: 1 if there is more, 0 when the file is at `to`. `buffer`: of PIECE bytes. */
int ioserver_move(moving *m, const io_ctx *ctx, const char *to, bool sync, char *buffer);
/* Removes what is left of it on the node, and an incomplete copy. */
void ioserver_moving_stop(moving *m);

/* ioserver_serve.c */
int ioserver_serve(const io_ctx *ctx);

#endif
