/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of computing between dumps and of methods with servers. */
#ifndef IOGAUGE_SERVER_FIGURES_H
#define IOGAUGE_SERVER_FIGURES_H

#include "report/report.h"

/* For a repeat; NULL if there is nothing to report. */
json_t *io_between_json(const io_report *report, uint64_t repeat);
json_t *io_queue_json(const io_report *report, uint64_t repeat);
/* Adds what was measured, as medians over the repeats. */
void io_summarise_servers(const io_report *report, json_t *summary);
void io_print_servers(const io_report *report);

#endif
