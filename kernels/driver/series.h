/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of files, as in mdtest: the time of each operation on all files of a process, and the rate. These
 * functions do nothing for patterns without a series. */
#ifndef IOGAUGE_SERIES_H
#define IOGAUGE_SERIES_H

#include "driver/sample.h"
#include "driver/session.h"

extern const char *const io_operation_names[IO_OPERATIONS];

/* Called by all: reads the folder of the owner's files, then stats every file; removes every file of this
 * process. All are timed. */
int io_look_up_series(io_session *session, uint64_t step, uint64_t owner, io_sample *sample);
int io_remove_series(io_session *session, io_sample *sample);

/* The phases of a step on this process, in seconds. */
void io_record_series(io_sample *sample, int direction, const double phase[IO_PHASES]);
/* Called by all at the end of a repeat: reduces this process's seconds over all processes. */
void io_reduce_series(const io_session *session, io_sample *sample);

#endif
