/* SPDX-License-Identifier: BSD-3-Clause */
/* What the guards of a job's nodes tell each other, without MPI: how long nothing has moved on each. The
 * first process of a node speaks for it, and the first node's listens, by datagrams. */
#ifndef IOGAUGE_NODES_H
#define IOGAUGE_NODES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct io_nodes io_nodes;

/* Called by all processes of `job`; `node`: those of this one's node. NULL on all but the first of each node,
 * and where there is one node only, or no network. */
io_nodes *io_nodes_start(MPI_Comm job, MPI_Comm node);
/* To be called again and again: for so many seconds nothing has moved here. `weight`: how likely the cause is
 * here (standstill.h), of which `line` is said. */
void io_nodes_tell(io_nodes *n, double still, int weight, const char *line);
/* Has nothing moved anywhere for `patience` seconds, as far as is known here? `line` is that of the likeliest
 * cause; unchanged where it is here. A node that has never been heard may move. */
bool io_nodes_are_still(io_nodes *n, double patience, char *line, size_t size);
/* This node has said why the job ends; the others need not. */
void io_nodes_have_said(io_nodes *n);
/* Has another one? */
bool io_nodes_said(const io_nodes *n);
void io_nodes_stop(io_nodes *n);

#endif
