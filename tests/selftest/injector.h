/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload that makes chosen calls on files go wrong, as storage, libraries and machines do.
 *
 * IOGAUGE_INJECT='CALL:FAULT below=FOLDER [nth=N] [every=N] [stagger=N] [times=N|all]
 * [rank=R] [seed=S] [ms=N] [log=FILE]'
 *
 * CALL is one of inj_calls, FAULT one of inj_faults. The N-th such call (default 1) of each process, or of
 * the one of rank R, on a file below FOLDER goes wrong, and so do those after it, each `every`-th of them, up
 * to `times` calls later (default 1). With `stagger`, each process begins so many calls after the one before.
 * `ms`: how long a slow one takes longer (default 1000). What the seed chooses is the same in each run: which
 * bit, how far. Each fault that fired is a line in FILE:
 *
 *     rank CALL:FAULT number offset bytes begin path
 *
 * Offset and bytes say what became wrong, or was not moved (-1 0 for a call without data); begin is where the
 * call begins (-1 without data). FOLDER may be a file. `any:count` makes nothing go wrong: each
 * process leaves a line `rank CALL number` for each kind of call.
 *
 * Before the embedded recorder in LD_PRELOAD it would stand for a broken library; after it, which is what it
 * is for, it stands for the storage: the recorder sees what the library asked for. */
#ifndef INJECTOR_H
#define INJECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum {
    INJ_OPEN,
    INJ_READ,
    INJ_WRITE,
    INJ_FSYNC,
    INJ_CLOSE,
    INJ_TRUNCATE,
    INJ_RENAME,
    INJ_UNLINK,
    INJ_CALLS,
    INJ_ANY = INJ_CALLS
} inj_call;

typedef enum {
    INJ_COUNT,
    INJ_FLIP,   /* one bit of the data is another one */
    INJ_DROP,   /* said to be done, and not done: what was there stays there */
    INJ_DOUBLE, /* written, and written again beside its place */
    INJ_SHIFT,  /* at another offset */
    INJ_STALE,  /* the data of the call before it */
    INJ_SWAP,   /* changes places with the next write to the file */
    INJ_SHORT,  /* half of it, and says so */
    INJ_ERROR,  /* fails with the plan's `code` */
    INJ_KILL,
    INJ_STOP,
    INJ_CRASH, /* a write to address 8 */
    INJ_BLOCK, /* never returns */
    INJ_SLOW,  /* takes `milliseconds` more, */
    INJ_BUSY   /* of a core */
} inj_fault;

typedef struct {
    bool on;
    inj_call call;
    inj_fault fault;
    int code; /* errno of INJ_ERROR */
    const char *name;
    uint64_t nth, every, stagger, times, seed, milliseconds;
    const char *rank; /* NULL: all */
    char below[4096], log[4096];
} inj_plan;

/* plan.c. Ends the process with one line where the text is wrong. */
void inj_parse(const char *text, inj_plan *plan);
extern const char *const inj_call_names[INJ_CALLS + 1];

/* aim.c */
typedef struct {
    bool fires;
    uint64_t number; /* of this call, from 1 */
    int64_t at;      /* of an access: its place */
    uint64_t bytes;
    char path[4096];
} inj_shot;

const inj_plan *inj_current(void);
/* Does the plan mean this call? It counts it. One on a path that is not open passes fd -1. */
bool inj_aim(inj_call call, int fd, int folder, const char *path, inj_shot *shot);
/* A line in the log. */
void inj_note(const inj_shot *shot, int64_t offset, uint64_t bytes);
/* Faults that are not in the data: ends, stops, waits; true: the call is to fail with errno set. */
bool inj_strike(const inj_shot *shot);
/* A number below `end` that seed and call choose. */
uint64_t inj_choose(const inj_shot *shot, uint64_t end);
/* The function behind this library; ends the process where there is none. */
void *inj_next(const char *name);

/* data.c: a call that fires, whatever it was called with. */
ssize_t inj_write(const inj_shot *shot, int fd, const void *data, size_t bytes, off64_t at);
ssize_t inj_read(const inj_shot *shot, int fd, void *data, size_t bytes, off64_t at);
/* After a call that did not fire: what later faults need of it. */
void inj_saw(bool writing, const void *data, size_t bytes);
bool inj_swaps(const inj_shot *shot, int fd, const void *data, size_t bytes, off64_t at, ssize_t *result);

#endif
