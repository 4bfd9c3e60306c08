/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the calls of a schedule (base/schedule.h) as recorded: POSIX or MPI-IO. Only these calls are timed.
 * All others (creating data that must exist before, reading back) bypass a recorder, so that the trace of a
 * replay equals the log. */
#ifndef IOGAUGE_REPLAY_H
#define IOGAUGE_REPLAY_H

#include "driver/sample.h"
#include "driver/session.h"

/* A placeholder for a method: a name and hints only. */
extern const io_method io_method_as_logged;

/* Runs one repeat. */
int io_replay(io_session *session, io_sample *sample);

#endif
