/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers, values and calls of a step. */
#ifndef IOGAUGE_MOVE_H
#define IOGAUGE_MOVE_H

#include "driver/step.h"

/* Read from storage before the clock stops to verify it: meanwhile the kernel reads ahead, some MiB. */
#define IO_HELD ((uint64_t)32 << 20)
#define IO_MOST_HELD 4096 /* parts, or calls of a replay */

/* Buffer size that a process needs for an owner's data. */
int io_buffer_bytes(const io_case *what, uint64_t owner, uint64_t *bytes, io_error *error);

/* The clock for all durations. It stops while values are generated or verified between two calls. */
double io_step_clock(const io_step *f);

/* Before a file is written or read, off the clock: fills or poisons the buffer, unless it is reused. */
void io_step_ready(io_step *f);
/* Makes all calls on the current file; with a reused buffer also verifies what was read. */
int io_step_move(io_step *f);
/* Verifies what was read, if the buffer still holds it. */
int io_step_verify(io_step *f);
/* Is anything read back and verified? Not for ceilings, nor for method null. */
bool io_step_verifies(const io_step *f);
void io_step_stretch_bytes(io_step *f, io_sample *sample);

#endif
