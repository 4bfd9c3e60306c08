/* SPDX-License-Identifier: BSD-3-Clause */
/* replay: the calls of another program, from a trace. A schedule holds each process's accesses in order
 * (base/schedule.h); the driver repeats them (driver/replay.c). Each file is an array of bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_replay;

enum { SCHEDULE = 256, TRACE, THINK, FOLD };
#define MAX_THINK 1e6

typedef struct {
    const char *path;
    bool fold;
    double think;
    uint64_t processes; /* that replay it */
    io_schedule schedule;
    io_dim *dims;
    io_dataset *datasets;
} replay;

static const io_option options[] = {
    {"schedule", SCHEDULE, "FILE",
     "schedule to replay, made from a trace by iogauge replay plan LOG -o FILE"},
    {"trace", TRACE, "LOG", "not supported here: prints the command that replays a trace"},
    {"think", THINK, "X", "fraction of the time between phases to keep: 1 (default) to 0"},
    {"fold", FOLD, NULL, "run on fewer processes than the log has; each does the work of several"},
    {0},
};

static void defaults(void *state) { ((replay *)state)->think = 1; }

static int set_think(replay *s, const char *value, io_error *error) {
    char *end;
    s->think = strtod(value, &end);
    if (end != value && !*end && s->think >= 0 && s->think <= MAX_THINK) return 0;
    return io_fail_usage(error, "--think %s: expected a number of at least 0, such as 1 or 0.5", value);
}

static int option(void *state, int letter, const char *value, io_error *error) {
    replay *s = state;
    switch (letter) {
    case SCHEDULE: s->path = value; return 0;
    case TRACE:
        return io_fail_usage(error,
                             "--trace %s: a trace must be converted to a schedule first; "
                             "iogauge replay %s --dir FOLDER does both",
                             value, value);
    case THINK: return set_think(s, value, error);
    default: s->fold = true; return 0;
    }
}

static int adjust(void *state, io_common *common, io_error *error) {
    replay *s = state;
    if (!s->path)
        return io_fail_usage(error, "no --schedule given; expected a file "
                                    "written by iogauge replay plan LOG -o FILE");
    if (common->method || common->mode)
        return io_fail_usage(error, "replay makes the calls in its log; omit --method and --mode");
    if (common->write_only || common->read_only)
        return io_fail_usage(error,
                             "replay reads and writes as its log does; omit --write-only and --read-only");
    if (strlen(s->path) >= IO_MAX_PATH) return io_fail_usage(error, "--schedule: the path is too long");
    if (io_schedule_open(s->path, &s->schedule, error)) return -1;
    const io_share *all = &s->schedule.all;
    if (!all->reads && !all->writes)
        return io_fail_usage(error, "--schedule: no reads or writes: %s", s->path);
    common->packs = s->schedule.reuses;
    common->write_only = !all->reads;
    common->read_only = !all->writes;
    return 0;
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    replay *s = state;
    uint64_t has = s->schedule.processes;
    s->processes = setup->processes;
    if (s->processes > has || (s->processes < has && !s->fold))
        return io_fail_usage(
            error, "the log has %" PRIu64 " processes, this run has %" PRIu64 "; use the same number%s", has,
            s->processes, s->processes < has ? ", or --fold to give each process the work of several" : "");
    if (s->processes < has && s->schedule.collective)
        return io_fail_usage(
            error, "--fold: the log has collective calls, which need its %" PRIu64 " processes", has);
    s->dims = calloc(s->schedule.nfiles, sizeof *s->dims);
    s->datasets = calloc(s->schedule.nfiles, sizeof *s->datasets);
    if (!s->dims || !s->datasets) return io_fail(error, "out of memory for the files of a schedule");
    for (uint64_t i = 0; i < s->schedule.nfiles; i++) {
        const io_schedule_file *f = &s->schedule.files[i];
        s->dims[i] = (io_dim){f->name, f->extent};
        s->datasets[i] =
            (io_dataset){.name = f->name, .type = IO_BYTE, .ndims = 1, .dim = {(int)i}, .block = {f->extent}};
    }
    return 0;
}

static void release(void *state) {
    replay *s = state;
    io_schedule_close(&s->schedule);
    free(s->dims);
    free(s->datasets);
}

static json_t *describe(const void *state) {
    const replay *s = state;
    const io_schedule *p = &s->schedule;
    return json_pack("{s:s,s:s,s:s,s:f,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "schedule", s->path, "source",
                     p->source, "recorder", p->recorder, "think", s->think, "fold",
                     p->processes > s->processes, "processes", (json_int_t)p->processes, "files",
                     (json_int_t)p->nfiles, "writes", (json_int_t)p->all.writes, "bytes_written",
                     (json_int_t)p->all.bytes_written, "reads", (json_int_t)p->all.reads, "bytes_read",
                     (json_int_t)p->all.bytes_read, "prepared_extents", (json_int_t)p->nprepared,
                     "undefined_extents", (json_int_t)p->nundefined);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const replay *s = state;
    (void)step;
    *out = (io_schema){.ndims = (int)s->schedule.nfiles,
                       .dims = s->dims,
                       .ndatasets = (int)s->schedule.nfiles,
                       .datasets = s->datasets};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    const replay *s = state;
    (void)step;
    (void)extension;
    snprintf(name, size, "%s", s->schedule.files[0].name);
}

/* The number of accesses of the process with the most. */
static uint64_t transfers(const void *state) {
    const replay *s = state;
    uint64_t most = 0;
    for (uint64_t i = 0; i < s->schedule.processes; i++) {
        const io_share *share = &s->schedule.shares[i];
        if (share->reads + share->writes > most) most = share->reads + share->writes;
    }
    return most;
}

/* Not used: the driver makes the calls of `schedule` instead. */
static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    (void)state;
    (void)owner;
    (void)transfer;
    (void)out;
    return 0;
}

/* Bytes written; for a log that only reads, bytes read. */
static uint64_t bytes(const void *state, uint64_t owner) {
    const replay *s = state;
    uint64_t first, n, sum = 0;
    io_split(s->schedule.processes, s->processes, owner, &first, &n);
    for (uint64_t i = first; i < first + n; i++) {
        const io_share *share = &s->schedule.shares[i];
        sum += s->schedule.all.writes ? share->bytes_written : share->bytes_read;
    }
    return sum;
}

static const io_schedule *schedule(const void *state, double *think) {
    const replay *s = state;
    *think = s->think;
    return &s->schedule;
}

const io_pattern io_pattern_replay = {
    .name = "replay",
    .summary = "the calls of a traced program, from a schedule of iogauge replay plan",
    .options = options,
    .state_size = sizeof(replay),
    .max_parts = 1,
    .defaults = defaults,
    .option = option,
    .adjust = adjust,
    .configure = configure,
    .release = release,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
    .schedule = schedule,
};
