/* SPDX-License-Identifier: BSD-3-Clause */
/* Times over all processes. */
#ifndef IOGAUGE_TIMES_H
#define IOGAUGE_TIMES_H

#include "driver/sample.h"
#include "driver/session.h"

/* Called by all: adds minimum, mean and maximum over processes of a step to the sample of a direction, and
 * records when its phases ran. */
void io_add_times(const io_session *session, io_sample *sample, const io_seconds *mine, int direction);
/* Unix time in seconds, as in traces; not for measuring durations. It goes on evenly where the clock is set.
 */
double io_wall_clock(const io_world *world);

#endif
