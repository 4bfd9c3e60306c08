/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a run: samples, evidence, and summary numbers. */
#ifndef IOGAUGE_REPORT_H
#define IOGAUGE_REPORT_H

#include "base/filesystem.h"
#include "driver/ceilings.h"
#include "driver/evidence.h"
#include "driver/run_options.h"

typedef struct {
    int64_t min, mean, max; /* bytes, over processes */
} io_peak_rss;

typedef struct {
    const io_run *run;
    const io_world *world;
    io_filesystem filesystem;
    uint64_t bytes;         /* of one direction of one repeat */
    uint64_t largest_share; /* bytes per step, of the process with the most */
    uint64_t buffer;        /* buffer size of every process in bytes */
    uint64_t done;          /* completed repeats */
    const io_sample *samples;
    const io_sample *direct;     /* by the inner method alone, or NULL */
    const io_ceilings *ceilings; /* one per repeat, or NULL */
    const io_found *found;
    io_summary summary;
    io_peak_rss peak_rss;
    double *scratch; /* for medians: run->what.common.repeats values */
} io_report;

const char *io_verdict(const io_report *report);
/* Median over the completed repeats; -1 if none was measured. */
double io_median(const io_report *report, double (*figure)(const io_report *, uint64_t repeat));
double io_figure_write(const io_report *report, uint64_t repeat); /* MiB/s; negative: not measured */
double io_figure_read(const io_report *report, uint64_t repeat);
/* Adds the medians of all numbers; null if not measured. */
void io_summarise_figures(const io_report *report, json_t *summary);

#endif
