/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers, values and calls of a step. */
#ifndef IOGAUGE_MOVE_H
#define IOGAUGE_MOVE_H

#include "driver/step.h"

/* The bytes that a process's buffer must have for an owner's data. */
int io_buffer_bytes(const io_case *what, uint64_t owner, uint64_t *bytes, io_error *error);

/* Of all durations: it stands still while values are made or checked between two calls. */
double io_step_clock(const io_step *f);

/* Before a file is written or read, off the clock: fills or poisons the buffer, unless it is reused. */
void io_step_ready(io_step *f);
/* All calls of the present file, and what they read where the buffer is reused. */
int io_step_move(io_step *f);
/* What was read, where the buffer still holds it. */
int io_step_verify(io_step *f);
/* Something is read back and compared; ceilings are only timed, and null moves nothing. */
bool io_step_verifies(const io_step *f);
void io_step_stretch_bytes(io_step *f, io_sample *sample);

#endif
