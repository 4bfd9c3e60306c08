/* SPDX-License-Identifier: BSD-3-Clause */
/* The ceilings of a file system: the same bytes per process in large aligned POSIX transfers. */
#ifndef IOGAUGE_CEILINGS_H
#define IOGAUGE_CEILINGS_H

#include "driver/sample.h"
#include "driver/session.h"

typedef struct {
    io_sample fpp, shared;
} io_ceilings;

/* Buffer size needed. */
uint64_t io_ceiling_buffer(const io_case *what, uint64_t bytes);
int io_measure_ceilings(const io_session *session, uint64_t bytes, io_ceilings *ceilings);

#endif
