/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of files, as in mdtest: the time of each operation on all files of a process, and the rate. These
 * do nothing for patterns without a series. */
#ifndef IOGAUGE_SERIES_H
#define IOGAUGE_SERIES_H

#include "driver/sample.h"
#include "driver/session.h"

extern const char *const io_operation_names[IO_OPERATIONS];

/* Called by all: looks up every file of the owner's (stat); removes every file of its own. Both timed. */
int io_stat_series(io_session *session, uint64_t step, uint64_t owner, io_sample *sample);
int io_remove_series(io_session *session, io_sample *sample);

/* The phases of a step on this process, in seconds. */
void io_note_series(io_sample *sample, int direction, const double phase[IO_PHASES]);
/* Called by all at the end of a repeat: from this process's seconds to all processes'. */
void io_reduce_series(const io_session *session, io_sample *sample);

#endif
