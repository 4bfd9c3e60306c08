/* SPDX-License-Identifier: BSD-3-Clause */
/* What computing between dumps and a method with servers add to the result. */
#ifndef IOGAUGE_SERVER_FIGURES_H
#define IOGAUGE_SERVER_FIGURES_H

#include "report/report.h"

/* Of a repeat; NULL where there is nothing to say. */
json_t *io_between_json(const io_report *report, uint64_t repeat);
json_t *io_queue_json(const io_report *report, uint64_t repeat);
/* Adds its figures, as medians over the repeats, those that were measured. */
void io_summarise_servers(const io_report *report, json_t *summary);
void io_print_servers(const io_report *report);

#endif
