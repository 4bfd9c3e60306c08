/* SPDX-License-Identifier: BSD-3-Clause */
/* The table on stdout, modelled on the summaries of S3D-IO and IOR. */
#ifndef IOGAUGE_TABLE_H
#define IOGAUGE_TABLE_H

#include "report/report.h"

void io_print_table(const io_report *report, void *unused);

#endif
