/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that keep some of the processes for themselves (io_method.servers), and what the driver does
 * between and after dumps because of them. */
#ifndef IOGAUGE_SERVERS_H
#define IOGAUGE_SERVERS_H

#include "driver/sample.h"
#include "driver/session.h"

/* Which process of a job is a server: with `servers` of them, the last one of each of as many nearly equal
 * ranges of ranks. So they are spread over the nodes, and process 0 is none. */
bool io_is_server(int rank, int size, int servers);

/* Called by all clients: computes for the session's seconds. */
void io_compute(const io_session *session);
/* Called by all clients after the last dump: waits until the servers are done, as a phase. */
int io_drain(io_session *session, io_sample *sample);

#endif
