/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a node's processes stands still, and what is said of it. */
#ifndef IOGAUGE_STANDSTILL_H
#define IOGAUGE_STANDSTILL_H

#include "driver/pulse.h"

/* The letter that the system has for a process: D waits for storage, S sleeps, T is stopped, R runs; '?'. */
char io_process_state(int pid);
char io_state_in(const char *stat); /* the same from the text of its /proc/PID/stat */
/* The one to name: it failed, or is stopped, or is in a call and not running; else any in a call. */
int io_find_still(const io_pulse *all, int n);
/* Did it fail, or is it stopped? Then it is this node that holds up the job. */
bool io_is_cause(const io_pulse *pulse);
/* One line without its end, of process `which` of `n`. */
void io_say_still(const io_pulse *all, int n, int which, double patience, char *line, size_t size);

#endif
