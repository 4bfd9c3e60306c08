/* The processes that run together: who sits where, and agreement on errors. */
#ifndef IOGAUGE_WORLD_H
#define IOGAUGE_WORLD_H

#include "io.h"

#define IO_HOST_NAME 256

typedef struct {
    MPI_Comm comm;
    int rank, size;
    int nodes, per_node;      /* per_node: the most processes on one node */
    bool first_on_node;
    char *hosts;              /* on process 0: `nodes` names of IO_HOST_NAME characters */
    io_error error;           /* this process's, and after io_agree everybody's */
    int failed;               /* how many processes failed */
} io_world;

int io_world_start(io_world *world);
void io_world_stop(io_world *world);

/* Called by all after each step that may fail: 0 when it went well everywhere; otherwise -1
 * everywhere, and world->error holds the message of the first process that failed. A process that
 * failed and whose peers do not come (they wait in a library for it) prints its message after
 * IO_PATIENCE seconds and ends the job. */
int io_agree(io_world *world);
#define IO_PATIENCE 10.0

/* Prints the agreed error, once, on stderr. */
void io_world_complain(const io_world *world);

#endif
