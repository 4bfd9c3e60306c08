/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the calls of a schedule (base/schedule.h) as the log has them: POSIX or MPI-IO. Only they are timed.
 * Calls that are not in the log (data that must exist beforehand, reading back) bypass a recorder, so that
 * the trace of a replay equals the log. */
#ifndef IOGAUGE_REPLAY_H
#define IOGAUGE_REPLAY_H

#include "driver/sample.h"
#include "driver/session.h"

/* Only a name and hints: it stands in for a method. */
extern const io_method io_method_as_logged;

/* One repeat. */
int io_replay(io_session *session, io_sample *sample);

#endif
