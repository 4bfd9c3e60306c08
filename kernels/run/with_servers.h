/* SPDX-License-Identifier: BSD-3-Clause */
/* A run whose method keeps some of the processes for itself: servers. */
#ifndef IOGAUGE_WITH_SERVERS_H
#define IOGAUGE_WITH_SERVERS_H

#include "driver/run_options.h"
#include "driver/world.h"

/* Where the run's method has servers: parts the processes, lets the servers serve, and runs `run_all` on the
 * others, whose world is then theirs alone. The exit status. */
int io_run_with_servers(io_run *run, io_world *world, int (*run_all)(io_run *, io_world *));

#endif
