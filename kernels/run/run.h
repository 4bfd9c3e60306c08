/* SPDX-License-Identifier: BSD-3-Clause */
/* One run from configured options to exit status. */
#ifndef IOGAUGE_RUN_H
#define IOGAUGE_RUN_H

#include "report/report.h"

/* What process 0 does with a run that went through; `to` is the caller's. */
typedef void io_teller(const io_report *report, void *to);

/* Runs, writes the document, and calls `tell` on process 0 when it went through. Returns the exit
 * status, the same on every process; errors have been printed. */
int io_run_all(const io_run *run, io_world *world, io_teller *tell, void *to);

#endif
