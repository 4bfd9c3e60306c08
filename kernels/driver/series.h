/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of files, as in mdtest: the time of each operation on all files of a process, and the rate. These
 * functions do nothing for patterns without a series. */
#ifndef IOGAUGE_SERIES_H
#define IOGAUGE_SERIES_H

#include "driver/sample.h"
#include "driver/session.h"

extern const char *const io_operation_names[IO_OPERATIONS];

/* Does this run create the files of a step before it writes them? */
bool io_creates_empty(const io_session *session);
/* Called by all: then creates them. Timed, as what follows. */
int io_create_series(io_session *session, uint64_t step, io_sample *sample);
/* Called by all: reads the folder of the owner's files (a shared one: process 0), then stats every file;
 * removes every file of this process. */
int io_look_up_series(io_session *session, uint64_t step, uint64_t owner, io_sample *sample);
int io_remove_series(io_session *session, io_sample *sample);

/* The phases of a step on this process, in seconds. */
void io_record_series(const io_session *session, io_sample *sample, int direction,
                      const double phase[IO_PHASES]);
/* Called by all at the end of a repeat: reduces this process's seconds over all processes. */
void io_reduce_series(const io_session *session, io_sample *sample);

#endif
