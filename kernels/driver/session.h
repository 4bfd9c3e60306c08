/* SPDX-License-Identifier: BSD-3-Clause */
/* A case being measured: its processes, its buffer, and its results so far. */
#ifndef IOGAUGE_SESSION_H
#define IOGAUGE_SESSION_H

#include "driver/case.h"
#include "driver/sample.h"

/* Evidence besides the samples (evidence.h). */
typedef struct io_found io_found;
/* Times of single calls (latency.h). */
typedef struct io_latency io_latency;

struct io_session {
    io_world *world;
    const io_case *what;
    MPI_Info info[IO_DIRECTIONS]; /* the hints for MPI */
    char *buffer;                 /* this process's data of one step, or of pieces of it */
    uint64_t buffer_bytes;
    uint64_t repeat;
    bool own_files; /* one file per process; set by io_measure */
    /* The files of the first `created` steps belong to this repeat. No others are ever removed. */
    uint64_t created;
    bool replaced; /* the repeat succeeded, and the next one makes its files anew, also with --keep */
    bool unmoved;  /* servers have not moved all to its place: what is there may be a user's */
    bool removed;  /* the files of a series have been, by timed calls: the same holds */
    bool directory_was_there; /* existed before this run; it is kept */
    bool directory_is_own;    /* this run created --dir itself (direct.c) */
    double began;             /* when the repeat's first file was about to be created; 0: not yet */
    uint64_t stored;          /* bytes of the files that this process checked */
    uint64_t warm;            /* bytes of them in memory after they were dropped */
    io_found *found;          /* NULL for ceilings, which are neither verified nor recorded */
    io_latency *latency;      /* NULL for what is measured beside the run */
};

/* May the files of a step be removed? Only files of this repeat; with --keep not the last one's. */
static inline bool io_may_remove(const io_session *session, uint64_t step) {
    return step < session->created && (!session->what->common.keep || session->replaced);
}

#endif
