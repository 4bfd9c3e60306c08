/* SPDX-License-Identifier: BSD-3-Clause */
/* The same data written by the method that stands behind the run's, for comparison. */
#ifndef IOGAUGE_DIRECT_H
#define IOGAUGE_DIRECT_H

#include "driver/sample.h"
#include "driver/session.h"

/* Is there anything to compare with? */
bool io_has_direct(const io_case *what);
/* The sample has only the writing. */
int io_measure_direct(const io_session *session, io_sample *sample);

#endif
