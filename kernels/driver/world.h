/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that run together: who sits where, and agreement on errors. */
#ifndef IOGAUGE_WORLD_H
#define IOGAUGE_WORLD_H

#include <mpi.h>

#include "base/data.h"
#include "base/error.h"

#define IO_HOST_NAME 256

typedef struct io_pulse io_pulse;     /* pulse.h */
typedef struct io_session io_session; /* session.h */

/* How a job ends that one process ends alone. */
typedef enum { IO_ENDS_FAILED, IO_ENDS_CRASHED, IO_ENDS_HUNG } io_ending;

typedef struct {
    MPI_Comm comm;
    int rank, size;
    int nodes, per_node; /* per_node: the most processes on one node */
    bool first_on_node;
    /* Of the whole job, also after io_world_narrow. */
    int job_size, job_nodes, job_per_node;
    char *hosts;    /* on process 0: `job_nodes` names of IO_HOST_NAME characters */
    io_error error; /* this process's, and after io_agree everybody's */
    int failed;     /* how many processes failed */
    /* For a process that ends the job alone: what it was doing, in one line, and what it must do
     * before it goes (remove its files, write the document). */
    char doing[IO_HOST_NAME + 128], doing_more[IO_MAX_PATH + 128], doing_path[IO_MAX_PATH];
    int ending;        /* the status after a failure that was told: a crash of MPI's end adds nothing */
    bool doing_over;   /* that phase has ended here, and the next one not begun */
    bool doing_remove; /* the file at that path is the run's own, and is not to be kept */
    void (*abandon)(void *data, const char *why, io_ending how);
    void *abandon_data;
    io_session *measuring; /* the session in hand; its files go first */
    io_pulse *pulse;       /* what the other processes see of this one; NULL: nobody looks */
} io_world;

int io_world_start(io_world *world);
void io_world_stop(io_world *world);
/* From now on the processes of `comm` are all there are: a part of those before, with the first of them. */
int io_world_narrow(io_world *world, MPI_Comm comm);

/* Called by all after each step that may fail: 0 when it went well everywhere; otherwise -1
 * everywhere, and world->error holds the message of the first process that failed. A process that
 * failed and whose peers do not come (they wait in a library for it) prints its message after
 * IO_PATIENCE seconds and ends the job. */
int io_agree(io_world *world);
#define IO_PATIENCE 5.0

/* Notes what comes next, for the one line that a crash inside a library leaves (main.c). */
void io_world_doing(io_world *world, const char *phase, const char *method, const char *path);
/* That is over: from here on a crash is one after it. */
void io_world_done(io_world *world);
/* What is left is MPI's end: all that the run has to say is said. `status`: the process's, to be. */
void io_world_ending(io_world *world, int status);
/* As io_world_doing, and whether that path may be removed if the run ends there. */
void io_world_doing_file(io_world *world, const char *phase, const char *method, const char *path,
                         bool remove);

/* Prints the agreed error, once, on stderr. */
void io_world_complain(const io_world *world);

#endif
