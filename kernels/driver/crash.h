/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does when a library crashes: one line, a backtrace, and no partial file of the run. The
 * handlers themselves are in main.c, because only they need the run at file scope. */
#ifndef IOGAUGE_CRASH_H
#define IOGAUGE_CRASH_H

#include <signal.h>

#include "driver/world.h"

/* Ends this process in the handler of a signal; `world` is NULL where no run is known. Makes only calls that
 * are safe in a signal handler. */
_Noreturn void io_crash_end(const io_world *world, int signal, const siginfo_t *info);
/* The line alone, where AddressSanitizer reports the crash itself. */
void io_crash_report(const io_world *world);
/* Installs the handler, or `report` where AddressSanitizer reports crashes itself. */
void io_crash_catch(void (*handler)(int, siginfo_t *, void *), void (*report)(void));
/* From here on a crash is for the launcher to report. */
void io_crash_release(void);

#endif
