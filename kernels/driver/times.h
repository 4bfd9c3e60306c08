/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of processes, summed up over them. */
#ifndef IOGAUGE_TIMES_H
#define IOGAUGE_TIMES_H

#include "driver/sample.h"
#include "driver/session.h"

/* Called by all: minimum, mean and maximum over processes of a step, added to a direction's; and when its
 * phases were, into what the session found. */
void io_add_times(const io_session *session, io_sample *sample, const io_seconds *mine, int direction);
/* Unix time in seconds, as traces have it: not for measuring. */
double io_wall_clock(void);

#endif
