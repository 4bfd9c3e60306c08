/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run says: the result document (docs/result-format.md) and the table on stdout. */
#ifndef IOGAUGE_RESULT_H
#define IOGAUGE_RESULT_H

#include "evidence.h"
#include "pattern.h"

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
    double *scratch; /* run->repeats of them, for medians */
} io_report;

const char *io_verdict(const io_report *report);
/* Median over the repeats done of one figure, or 0. */
double io_median(const io_report *report, double (*figure)(const io_report *, uint64_t repeat));
double io_figure_write(const io_report *report, uint64_t repeat); /* MiB/s */
double io_figure_read(const io_report *report, uint64_t repeat);

/* A new document; `error` NULL or the line that went to stderr. */
json_t *io_result(const io_report *report, const char *error);
/* 0, or -1 with a message. */
int io_write_json(const json_t *document, const char *path, io_error *error);

json_t *io_direction_json(const io_sample *sample, int direction, bool ran, const char *const *stretches);

/* result_servers.c: of a repeat; NULL where there is nothing to say. */
json_t *io_between_json(const io_report *report, uint64_t repeat);
json_t *io_queue_json(const io_report *report, uint64_t repeat);
json_t *io_direct_json(const io_report *report, uint64_t repeat);
/* Adds its figures, as medians over the repeats, those that were measured. */
void io_summarise_servers(const io_report *report, json_t *summary);
void io_print_servers(const io_report *report);

void io_print_table(const io_report *report, void *unused);
json_t *io_libraries(void);

#endif
