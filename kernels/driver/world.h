/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run: their placement, and agreement on errors. */
#ifndef IOGAUGE_WORLD_H
#define IOGAUGE_WORLD_H

#include <mpi.h>

#include "base/data.h"
#include "base/error.h"

#define IO_HOST_NAME 256

typedef struct io_pulse io_pulse;     /* pulse.h */
typedef struct io_session io_session; /* session.h */

/* How a single process ends the job. */
typedef enum { IO_ENDS_FAILED, IO_ENDS_CRASHED, IO_ENDS_HUNG } io_ending;

typedef struct {
    MPI_Comm comm;
    MPI_Comm node; /* the processes of `comm` on this node: they have one monotonic clock */
    int rank, size;
    int nodes, per_node; /* per_node: the most processes on one node */
    /* The process whose data this one reads back: another one, on another node if possible. No two processes
     * read the same one's. */
    int shifted;
    bool first_on_node;
    /* Counts of the whole job, even after io_world_narrow. */
    int job_size, job_nodes, job_per_node;
    double epoch;   /* Unix time at which io_monotonic_seconds was 0, as the clock stood at the start */
    char *hosts;    /* on process 0: `job_nodes` names of IO_HOST_NAME characters */
    io_error error; /* of this process; after io_agree the same on all */
    int failed;     /* how many processes failed */
    /* For a process that ends the job: what it was doing, in one line, and what it must do first (remove its
     * files, write the document). */
    char doing[IO_HOST_NAME + 128], doing_more[IO_MAX_PATH + 128], doing_path[IO_MAX_PATH];
    int ending;        /* exit status after the failure was reported: a crash in MPI_Finalize adds nothing */
    bool doing_over;   /* the phase has ended, and the next one has not begun */
    bool doing_remove; /* the file belongs to the run and is not kept */
    _Atomic int crashed_thread; /* the one that reports a crash of this process; 0: none */
    void (*abandon)(void *data, const char *why, io_ending how);
    void *abandon_data;
    io_session *measuring; /* the current session; its files are removed first */
    io_pulse *pulse;       /* progress shown to other processes, or NULL */
} io_world;

int io_world_start(io_world *world);
void io_world_stop(io_world *world);
/* Narrows the world to the processes of `comm`. */
int io_world_narrow(io_world *world, MPI_Comm comm);

/* Called by all: a communicator of the first processes of the nodes, which these free. MPI_COMM_NULL on the
 * others. */
MPI_Comm io_node_leaders(const io_world *world);
/* Called by all of `comm`: the `able` of its process 0, such as whether it has the memory to gather. */
bool io_root_is_able(const io_world *world, MPI_Comm comm, bool able);

/* Called by all after each step that may fail. Returns 0 if it succeeded everywhere; else -1 everywhere, with
 * the message of the first process that failed in world->error. If a process failed and the others do not
 * arrive (because they wait for it in a library), it prints its message after IO_PEER_SECONDS and ends the
 * job. */
int io_agree(io_world *world);
/* A barrier, off the clock. Ends the job as io_agree does. */
void io_meet(io_world *world);
/* The most of `n` values over `comm`, which holds this process's node or world. Ends the job as io_agree
 * does. */
void io_reduce_max(io_world *world, MPI_Comm comm, const double *mine, double *most, int n);
/* From the first begin on this node to the last end, by io_monotonic_seconds; 0 if no process has any. A
 * process without one passes INFINITY, -INFINITY. */
double io_node_seconds(io_world *world, double began, double ended);
#define IO_PEER_SECONDS 5.0

/* Calls a function of MPI. If it fails, prints the message and ends the job: what the other processes wait
 * for is not known then. */
#define IO_MPI(WORLD, CALL, ...)                                                                             \
    do {                                                                                                     \
        int io_mpi_code = CALL(__VA_ARGS__);                                                                 \
        if (io_mpi_code) io_mpi_failed(WORLD, #CALL, io_mpi_code);                                           \
    } while (0)
void io_mpi_failed(const io_world *world, const char *call, int code);
/* The same for the error of this process, where the others cannot learn of it. */
void io_world_give_up(const io_world *world);

/* Records the next phase, for the message of a crash inside a library (crash.h). */
void io_world_doing(io_world *world, const char *phase, const char *method, const char *path);
/* The phase is over: a later crash is reported as one after it. */
void io_world_done(io_world *world);
/* Only MPI_Finalize is left, and everything has been reported. `status` is the exit status. */
void io_world_ending(io_world *world, int status);
/* Like io_world_doing; `remove`: may the path be removed if the run ends here? */
void io_world_doing_file(io_world *world, const char *phase, const char *method, const char *path,
                         bool remove);

/* Prints the agreed error, once, on stderr. */
void io_world_print_error(const io_world *world);

#endif
