/* SPDX-License-Identifier: BSD-3-Clause */
/* One run, from configured options to exit status. */
#ifndef IOGAUGE_RUN_H
#define IOGAUGE_RUN_H

#include "report/report.h"

/* Called on process 0 after a successful run; `to` is the caller's. */
typedef void io_report_callback(const io_report *report, void *to);

/* Runs, writes the document, and calls `on_success` on process 0 on success. Returns the exit status, the
 * same on every process. Errors have been printed. */
int io_run_all(const io_run *run, io_world *world, io_report_callback *on_success, void *to);

#endif
