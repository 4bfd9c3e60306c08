/* SPDX-License-Identifier: BSD-3-Clause */
/* A run whose method has servers. */
#ifndef IOGAUGE_WITH_SERVERS_H
#define IOGAUGE_WITH_SERVERS_H

#include "driver/run_options.h"
#include "driver/world.h"

/* If the run's method has servers: splits the processes, runs the servers, and calls `run_all` on the clients
 * with their own world. Returns the exit status. */
int io_run_with_servers(io_run *run, io_world *world, int (*run_all)(io_run *, io_world *));

#endif
