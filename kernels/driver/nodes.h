/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the guards of the nodes of a job, without MPI: for how long each node has made no
 * progress. The first process of a node speaks for it. The nodes send datagrams to the first node. */
#ifndef IOGAUGE_NODES_H
#define IOGAUGE_NODES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct io_nodes io_nodes;

/* Called by all processes of `job`; `node`: the processes of this node. NULL on all but the first process of
 * each node, on a single node, and without a network. */
io_nodes *io_nodes_start(MPI_Comm job, MPI_Comm node);
/* Called regularly: this node has made no progress for so many seconds. `weight`: how likely it is the cause
 * (standstill.h); `line`: the message about it. */
void io_nodes_tell(io_nodes *n, double still, int weight, const char *line);
/* Has no node made progress for `patience` seconds, as far as is known here? `line` becomes the message of
 * the likeliest cause, unless that is here. A node that was never heard may be making progress. */
bool io_nodes_are_still(io_nodes *n, double patience, char *line, size_t size);
/* This node has reported why the job ends; the others need not. */
void io_nodes_have_said(io_nodes *n);
/* Has another node reported? */
bool io_nodes_said(const io_nodes *n);
void io_nodes_stop(io_nodes *n);

#endif
