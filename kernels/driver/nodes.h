/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the guards of the nodes of a job, without MPI: how long each node has made no progress.
 * The first process of a node acts for it. Nodes send datagrams to the first node. */
#ifndef IOGAUGE_NODES_H
#define IOGAUGE_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "driver/world.h"

typedef struct io_nodes io_nodes;

/* Called by all processes. NULL on all but the first process of each node, on a single node, and without a
 * network. */
io_nodes *io_nodes_start(const io_world *world);
/* Called regularly: this node has made no progress for `idle` seconds. `weight` is how likely it is the cause
 * (standstill.h), `line` the message about it. */
void io_nodes_update(io_nodes *n, double idle, int weight, const char *line);
/* Has no node, as far as this one knows, made progress for `patience` seconds? `line` becomes the message
 * about the most likely cause, unless that is on this node. A node that was never heard may be making
 * progress. */
bool io_nodes_are_idle(io_nodes *n, double patience, char *line, size_t size);
/* Tells the others that this node has reported why the job ends. */
void io_nodes_set_reported(io_nodes *n);
/* Has another node reported? */
bool io_nodes_reported(const io_nodes *n);
void io_nodes_stop(io_nodes *n);

#endif
