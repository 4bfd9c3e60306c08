/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a node's processes stands still, and what is said of it. */
#ifndef IOGAUGE_STANDSTILL_H
#define IOGAUGE_STANDSTILL_H

#include "driver/pulse.h"

/* The letter that the system has for a process: D waits for storage, S sleeps, T is stopped, R runs; '?'. */
char io_process_state(int pid);
char io_state_in(const char *stat); /* the same from the text of its /proc/PID/stat */
/* How likely a process is what the others wait for: 4 it failed, 3 it is stopped, 2 it is in a call and does
 * not run, 1 it is in a call, 0 it waits for the others. */
int io_blame(const io_pulse *pulse);
/* The one to name: of those the likeliest. */
int io_find_still(const io_pulse *all, int n);
/* Did it fail, or is it stopped? Then it is this node that holds up the job. */
bool io_is_cause(const io_pulse *pulse);
/* One line without its end, of process `which` of `n`. */
void io_say_still(const io_pulse *all, int n, int which, double patience, char *line, size_t size);

#endif
