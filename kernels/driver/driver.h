/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver: the only code that reads a clock. It also decides which process reads back which data. */
#ifndef IOGAUGE_DRIVER_H
#define IOGAUGE_DRIVER_H

#include "driver/sample.h"
#include "driver/session.h"

/* Runs one repeat. On failure the files are removed, unless they are to be kept. */
int io_measure(io_session *session, io_sample *sample);

#endif
