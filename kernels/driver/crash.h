/* SPDX-License-Identifier: BSD-3-Clause */
/* A crash inside a library: prints one line and a backtrace, and removes the partial files of the run. The
 * handlers are in main.c, because only they need the run at file scope. */
#ifndef IOGAUGE_CRASH_H
#define IOGAUGE_CRASH_H

#include <signal.h>

#include "driver/world.h"

/* Ends this process from a signal handler; `world` is NULL if there is no run. Async-signal-safe. */
_Noreturn void io_crash_end(io_world *world, int signal, const siginfo_t *info);
/* Prints only the line, if AddressSanitizer reports the crash itself. */
void io_crash_report(const io_world *world);
/* Installs the handler, or `report` if AddressSanitizer reports crashes. */
void io_crash_catch(void (*handler)(int, siginfo_t *, void *), void (*report)(void));
/* Restores the default handling: from here on the launcher reports a crash. */
void io_crash_release(void);

#endif
