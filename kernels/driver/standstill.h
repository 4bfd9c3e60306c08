/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the process of a node that hangs, and describes it. */
#ifndef IOGAUGE_STANDSTILL_H
#define IOGAUGE_STANDSTILL_H

#include "driver/pulse.h"

/* The state letter of a process: D waits for storage, S sleeps, T is stopped, R runs; `?` if unknown. */
char io_process_state(int pid);
char io_state_in(const char *stat); /* from the text of /proc/PID/stat */
/* How likely the others are waiting for this process: 4 it failed, 3 it is stopped, 2 it is in a call and not
 * running, 1 it is in a call and running, 0 it waits for others. */
int io_blame(const io_pulse *pulse);
/* The most likely one. */
int io_find_hung(const io_pulse *all, int n);
/* Did it fail, or is it stopped? Then this node holds up the job. */
bool io_is_cause(const io_pulse *pulse);
/* Formats one line, without a newline, about process `which` of `n`. */
void io_describe_hang(const io_pulse *all, int n, int which, double patience, char *line, size_t size);

#endif
