/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the calls of a schedule (base/schedule.h), as the log has them: POSIX's, or MPI-IO's. They alone are
 * timed. What is not the log's own (data that must be there beforehand, reading back what was written) goes
 * past a recorder, so that the trace of a replay is that of the log. */
#ifndef IOGAUGE_REPLAY_H
#define IOGAUGE_REPLAY_H

#include "driver/sample.h"
#include "driver/session.h"

/* Its name and its hints only: it stands where the others have their calls. */
extern const io_method io_method_as_logged;

/* One repeat. */
int io_replay(io_session *session, io_sample *sample);

#endif
