/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods with servers (io_method.servers): what the driver does between dumps and after the last one. */
#ifndef IOGAUGE_SERVERS_H
#define IOGAUGE_SERVERS_H

#include "driver/sample.h"
#include "driver/session.h"

/* Is a process of the job a server? With N `servers`, it is the last process of each of N nearly equal ranges
 * of ranks, so that servers are spread over the nodes and process 0 is a client. */
bool io_is_server(int rank, int size, int servers);

/* Called by all clients: computes for --compute-seconds. */
void io_compute(const io_session *session);
/* Called by all clients after a failure: the servers remove their files, unless all were moved before it. */
void io_undo_moves(const io_session *session);
/* Called by all clients after the last dump: waits until the servers are done, as a timed phase. */
int io_drain(io_session *session, io_sample *sample);

#endif
