/* SPDX-License-Identifier: BSD-3-Clause */
/* ioserver, shared by its parts: what travels between clients and servers, and the state of each side.
 *
 * A client sends a header, and where it announces bytes, these in a second message. Nothing else limits a
 * client than that its bytes are received only when the queue has room for them: the receive is the credit.
 */
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
    REQUEST_STOP
} request_kind;

typedef struct {
    request_kind request;
    bool keep;      /* stop */
    int status;     /* stop */
    uint64_t file;  /* number of the file, in the order in which clients create files */
    uint64_t bytes; /* size of the message that follows; 0: there is none */
    io_part part;   /* write */
} header;

/* From a server: an answer to a drain, or that something failed. */
typedef struct {
    bool failed;
    io_queue_use use;
    io_error error;
} news;

/* A message on its way from a client. */
typedef struct {
    header head;
    MPI_Request requests[2];
    char *copy; /* of the bytes, with --send copy */
} slot;
#define SLOTS 4
#define PIECE ((uint64_t)4 << 20) /* most bytes in a message, so that no call occupies a server for long */

typedef struct {
    /* The options. */
    uint64_t processes, limit;
    bool copy;
    const char *inner_name;        /* as given; NULL: the default */
    const io_method *inner, *mine; /* mine: the run's own copy of this method */
    /* After start. */
    MPI_Comm link;
    int nclients, *clients; /* server: ranks of all clients in `link`, its own ones first */
    int nmine;              /* server: clients of its own; client: its servers */
    int *servers;           /* client: their ranks */
    uint64_t piece;
    /* Client. */
    slot slots[SLOTS];
    unsigned next;
    uint64_t created;
    int answered; /* servers that have answered since the last drain */
    io_queue_use use;
} ioserver;

/* ioserver_wire.c. Serialises a schema, after the path of its file; NULL: out of memory. */
void *ioserver_pack(const char *path, const io_schema *schema, uint64_t *bytes);
/* Deserialises it. The pointers of the schema point into `packed`, which begins with the path. Every data set
 * is marked for independent calls, which servers use. */
void ioserver_unpack(void *packed, io_schema *schema);

/* A part split into boxes that are contiguous in memory. */
typedef struct {
    const io_schema *schema;
    const io_part *part;
    uint64_t most, at; /* bytes of a piece; elements handed out */
} pieces;
bool ioserver_next_piece(pieces *pieces, io_part *piece);

/* ioserver_queue.c: entries in order of arrival, with their data in one arena of `limit` bytes. */
typedef struct entry {
    struct entry *next;
    header head;
    int client;
    void *data;     /* of head.bytes */
    uint64_t spent; /* bytes used in the arena, with what was skipped at its end; 0: on the heap */
} entry;
typedef struct {
    char *arena;
    uint64_t limit, begin, end, used, peak; /* used: between begin and end, wrapping round */
    entry *first, **last;
} queue;
int ioserver_queue_start(queue *q, uint64_t limit);
void ioserver_queue_stop(queue *q);
/* Appends an entry with room for its bytes; false: no room yet. Only data counts: the few bytes of a schema
 * come from the heap. */
bool ioserver_queue_add(queue *q, const header *head, int client, entry **added);
/* Drops the first entry. */
void ioserver_queue_drop(queue *q);

/* ioserver_send.c: the clients' side. Failures are in ctx->error; a server's failure is reported as soon as
 * it is known, whatever the client is waiting for. */
int ioserver_send_start(const io_ctx *ctx);
int ioserver_tell(const io_ctx *ctx, int server, const header *head, const void *bytes);
int ioserver_wait_sent(const io_ctx *ctx);                       /* until all bytes have left */
int ioserver_wait_answers(const io_ctx *ctx, io_queue_use *use); /* to a drain, of all its servers */

/* ioserver_serve.c */
int ioserver_serve(const io_ctx *ctx);

#endif
