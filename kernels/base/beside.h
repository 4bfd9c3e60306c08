/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of what is measured beside a run, in the run's own folder. By them the recorder, and
 * analysis/ledger/ledger.py, tell its calls from the run's. */
#ifndef IOGAUGE_BESIDE_H
#define IOGAUGE_BESIDE_H

#define IO_CEILING_FILE "iogauge-ceiling" /* with -fpp, -shared, -small or -files */
#define IO_DIRECT_FOLDER "iogauge-direct"

#endif
