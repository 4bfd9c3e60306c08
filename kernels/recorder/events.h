/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that order the accesses of several processes, and file views, which map an MPI-IO access to bytes.
 * Recorded together with single accesses; analysis/blame reads them. */
#ifndef RECORDER_EVENTS_H
#define RECORDER_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

/* Arguments a and b, in order: mode and processes; none; none; the group (0: all) and its processes; offset
 * and length of a lock (0: to the end, WHOLE_FILE: by flock(), which knows nothing of fcntl()'s locks, except
 * on NFS); the same; the same; the view's number; on or off; its ways, and which file (0: none); the other
 * process (-1: any) and what identifies the message, twice; the direction, and the sequence of the access
 * plus one (0: the split call before it); none and what identifies the path, twice; four times the data set,
 * plus two if collective, plus the direction, and the selection; the file's new size. */
enum event_kind {
    EVENT_OPEN,
    EVENT_CLOSE,
    EVENT_SYNC,
    EVENT_MEET, /* a barrier: no process leaves before all have arrived */
    EVENT_LOCK_READ,
    EVENT_LOCK_WRITE,
    EVENT_UNLOCK,
    EVENT_VIEW,
    EVENT_ATOMIC,
    EVENT_MESSAGE, /* a call that may order processes */
    EVENT_SEND,
    EVENT_RECEIVE,
    EVENT_WAIT,     /* for an access that a call had begun */
    EVENT_CHANGED,  /* a path came, went or moved */
    EVENT_LOOKED,   /* whether a path is there */
    EVENT_DATA_SET, /* a call of HDF5 moved data */
    EVENT_CUT       /* a file was truncated */
};
enum { WHOLE_FILE = -1 };

typedef struct {
    uint64_t file; /* 0: none */
    int64_t a, b;
    double start, end;
    uint32_t sequence;
    uint16_t kind, module;
} event;

typedef struct {
    event *entry;
    size_t used, room;
} event_list;

enum { VIEW_DISPLACEMENT, VIEW_EXTENT, VIEW_SIZE, VIEW_ELEMENT, VIEW_WORDS };

/* A file view: `pieces` of offset and length, in bytes from the displacement, repeated every `extent`. No
 * pieces: unknown, because the type is unsupported or has too many. */
typedef struct {
    int64_t word[VIEW_WORDS], (*piece)[2];
    uint64_t pieces;
} view;

typedef struct {
    view *entry;
    size_t used, room;
} view_list;

/* A data set of HDF5: SET_WORDS words, its dimensions, a chunk's, the filters, and the name. Or a
 * selection: PART_WORDS words, and its numbers. */
typedef struct shape {
    struct shape *next; /* of the same bucket */
    size_t number;
    uint64_t size;
    char data[];
} shape;

#define SHAPE_BUCKETS 65536
typedef struct {
    shape **entry, *bucket[SHAPE_BUCKETS];
    size_t used, room, bytes;
} shape_list;

/* The file, the class and the bytes of an element as HDF5 has them (VARIABLE_LENGTH: strings, too), and how
 * many dimensions there are, a chunk's (none: it has no chunks), and filters. */
enum { SET_FILE, SET_CLASS, SET_BYTES, SET_DIMS, SET_CHUNK, SET_FILTERS, SET_WORDS };
enum { VARIABLE_LENGTH = 9 };

/* How many elements, and in so many dimensions so many slabs (-1: unknown): of each the start, stride, count
 * and block in all dimensions, as HDF5 has them. */
enum { PART_ELEMENTS, PART_DIMS, PART_SLABS, PART_WORDS };

/* With the lock held. Does nothing if accesses are only counted, or if there is no record. */
void event_add(const record *r, int kind, int64_t a, int64_t b, double start, double end);
/* The ways in which calls may order: what others do later, what they did before. */
enum { MESSAGE_OUT = 1, MESSAGE_IN = 2, MESSAGE_BOTH = MESSAGE_OUT | MESSAGE_IN };
/* `of`: only between processes that opened or closed this file together; NULL: any. */
void event_message(int ways, const record *of, double start, double end);
/* Another process may wait for a path to come or go. */
void event_path(int kind, const char *path, double start, double end);
/* The number of a shape; equal ones have one. -1: no memory. */
int64_t shape_number(const void *data, size_t size);
/* A forked child has none. */
void shapes_forget(void);
/* Takes ownership of the view's pieces. */
void event_view(const record *r, view *v, double start, double end);

#endif
