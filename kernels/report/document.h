/* SPDX-License-Identifier: BSD-3-Clause */
/* The result document (docs/result-format.md). */
#ifndef IOGAUGE_DOCUMENT_H
#define IOGAUGE_DOCUMENT_H

#include "report/report.h"

/* A new document. `error` is NULL or the line printed on stderr; `hung` if the run hung, which that line
 * describes. */
json_t *io_result(const io_report *report, const char *error, bool hung);

#endif
