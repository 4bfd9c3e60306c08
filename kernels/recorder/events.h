/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that order the accesses of several processes, and file views, which say what bytes an MPI-IO access
 * moves. Kept when each access is kept; analysis/blame reads them. */
#ifndef RECORDER_EVENTS_H
#define RECORDER_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

/* With a = mode, b = processes; nothing; nothing; the group (0: all) and its processes; place and length of a
 * lock (0: up to the end); the same; the same; the view's number; on or off. */
enum event_kind {
    EVENT_OPEN,
    EVENT_CLOSE,
    EVENT_SYNC,
    EVENT_MEET, /* a barrier: no process leaves before all have come */
    EVENT_LOCK_READ,
    EVENT_LOCK_WRITE,
    EVENT_UNLOCK,
    EVENT_VIEW,
    EVENT_ATOMIC
};

typedef struct {
    uint64_t file; /* 0: of none */
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

/* With the lock held. Does nothing if accesses are only counted, and for no record. */
void event_add(const record *r, int kind, int64_t a, int64_t b, double start, double end);
/* Takes over the pieces of the view. */
void event_view(const record *r, view *v, double start, double end);

#endif
