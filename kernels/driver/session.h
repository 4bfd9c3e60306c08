/* SPDX-License-Identifier: BSD-3-Clause */
/* A case while it is measured: its processes, its buffer, and what it has left so far. */
#ifndef IOGAUGE_SESSION_H
#define IOGAUGE_SESSION_H

#include "driver/case.h"
#include "driver/sample.h"

/* What a run leaves behind besides its samples (evidence.h). */
typedef struct io_found io_found;

struct io_session {
    io_world *world;
    const io_case *what;
    MPI_Info info[IO_DIRECTIONS]; /* the hints that MPI may see */
    char *buffer;                 /* this process's data of one step, or of a piece of it */
    uint64_t repeat;
    bool own_files; /* each process has files of its own; io_measure sets it */
    /* What of the files is this run's: those of the first so many steps. No others are ever removed. */
    uint64_t created;
    bool directory_was_there; /* before this run; it stays */
    bool directory_is_own;    /* --dir itself was made by this run (direct.c) */
    double began;             /* when the repeat's first file was about to be created; 0: not yet */
    uint64_t stored;          /* bytes of the files that this process looked at */
    io_found *found;          /* NULL for ceilings: nothing is verified or recorded */
};

/* May the files of a step be removed? They are this run's own, and nobody asked to keep them. */
static inline bool io_may_remove(const io_session *session, uint64_t step) {
    return step < session->created && !session->what->common.keep;
}

#endif
