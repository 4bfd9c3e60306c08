/* SPDX-License-Identifier: BSD-3-Clause */
/* One run from configured options to exit status. */
#ifndef IOGAUGE_RUN_H
#define IOGAUGE_RUN_H

#include "report/report.h"

/* Called on process 0 after a successful run; `to` is for the caller. */
typedef void io_teller(const io_report *report, void *to);

/* Runs, writes the document, and calls `tell` on process 0 after success. Returns the exit status, the same
 * on every process. Errors have been printed. */
int io_run_all(const io_run *run, io_world *world, io_teller *tell, void *to);

#endif
