/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods with servers (io_method.servers), and what the driver does for them between dumps and after the
 * last one. */
#ifndef IOGAUGE_SERVERS_H
#define IOGAUGE_SERVERS_H

#include "driver/sample.h"
#include "driver/session.h"

/* Is a process of the job a server? With N `servers`, the last process of each of N nearly equal ranges of
 * ranks: they are spread over the nodes, and process 0 is a client. */
bool io_is_server(int rank, int size, int servers);

/* Called by all clients: computes for the session's seconds. */
void io_compute(const io_session *session);
/* Called by all clients after the last dump: waits until the servers are done, as a phase. */
int io_drain(io_session *session, io_sample *sample);

#endif
