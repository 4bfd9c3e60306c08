/* SPDX-License-Identifier: BSD-3-Clause */
/* A case while it is measured: its processes, its buffer, and its results so far. */
#ifndef IOGAUGE_SESSION_H
#define IOGAUGE_SESSION_H

#include "driver/case.h"
#include "driver/sample.h"

/* Evidence besides the samples (evidence.h). */
typedef struct io_found io_found;

struct io_session {
    io_world *world;
    const io_case *what;
    MPI_Info info[IO_DIRECTIONS]; /* the hints that MPI may see */
    char *buffer;                 /* this process's data of one step, or of a piece of it */
    uint64_t repeat;
    bool own_files; /* each process has files of its own; io_measure sets it */
    /* The files of the first so many steps belong to this run. No others are ever removed. */
    uint64_t created;
    bool directory_was_there; /* existed before this run; it is kept */
    bool directory_is_own;    /* --dir itself was made by this run (direct.c) */
    double began;             /* when the repeat's first file was about to be created; 0: not yet */
    uint64_t stored;          /* bytes of the files that this process looked at */
    io_found *found;          /* NULL for ceilings: nothing is verified or recorded */
};

/* May the files of a step be removed? Only files of this run, and not with --keep. */
static inline bool io_may_remove(const io_session *session, uint64_t step) {
    return step < session->created && !session->what->common.keep;
}

#endif
