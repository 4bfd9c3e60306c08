/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a run as JSON. */
#ifndef IOGAUGE_SAMPLES_H
#define IOGAUGE_SAMPLES_H

#include "report/report.h"

json_t *io_samples_json(const io_report *report);

#endif
