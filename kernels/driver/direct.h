/* SPDX-License-Identifier: BSD-3-Clause */
/* The same data written by the method behind the run's method, for comparison. */
#ifndef IOGAUGE_DIRECT_H
#define IOGAUGE_DIRECT_H

#include "driver/sample.h"
#include "driver/session.h"

/* Is there such a method? */
bool io_has_direct(const io_case *what);
/* Fills in the writing only. */
int io_measure_direct(const io_session *session, io_sample *sample);

#endif
