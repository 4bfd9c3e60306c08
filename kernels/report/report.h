/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run has to say: its samples, its evidence, and the figures that are made of them. */
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
    uint64_t largest_share; /* bytes of a step on the process that has most */
    uint64_t buffer;        /* bytes of memory for it, on every process */
    uint64_t done;          /* repeats that went well */
    const io_sample *samples;
    const io_sample *direct;     /* the same, by the method behind; or NULL */
    const io_ceilings *ceilings; /* one for each repeat, or NULL */
    const io_found *found;
    io_summary summary;
    io_peak_rss peak_rss;
    double *scratch; /* run->what.common.repeats of them, for medians */
} io_report;

const char *io_verdict(const io_report *report);
/* Median over the repeats done of one figure; -1 where none was. */
double io_median(const io_report *report, double (*figure)(const io_report *, uint64_t repeat));
double io_figure_write(const io_report *report, uint64_t repeat); /* MiB/s; negative: not measured */
double io_figure_read(const io_report *report, uint64_t repeat);
/* Adds the medians of all figures, null where nothing was measured. */
void io_summarise_figures(const io_report *report, json_t *summary);

#endif
