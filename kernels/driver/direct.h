/* SPDX-License-Identifier: BSD-3-Clause */
/* The same data written directly by the backend of the run's method, for comparison. */
#ifndef IOGAUGE_DIRECT_H
#define IOGAUGE_DIRECT_H

#include "driver/sample.h"
#include "driver/session.h"

/* Does the method have a backend to measure? */
bool io_has_direct(const io_case *what);
/* Fills in only the results of writing. */
int io_measure_direct(const io_session *session, io_sample *sample);

#endif
