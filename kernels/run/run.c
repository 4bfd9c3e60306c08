/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "driver/direct.h"
#include "driver/driver.h"
#include "driver/latency.h"
#include "driver/move.h"
#include "driver/pulse.h"
#include "driver/run_files.h"
#include "report/document.h"
#include "report/json_file.h"

#define ALIGNMENT 4096
#define TOUCHED ((uint64_t)1 << 30) /* bytes at a time */

/* Everything that a run allocates. */
typedef struct {
    io_found found;
    io_session session;
    io_report report;
    io_sample *samples;
    io_ceilings *ceilings;
    io_sample *direct;
} run_data;

/* What the files of a replay take at most: what it writes, and what is made beforehand because the log reads
 * it first; no more than up to the files' ends. */
static uint64_t replay_bytes(const io_schedule *plan, uint64_t written, io_error *error) {
    io_extent *before = io_schedule_extents(plan, false, error);
    uint64_t most = 0, made = written;
    for (uint64_t f = 0; f < plan->nfiles; f++) most += plan->files[f].extent;
    for (uint64_t i = 0; before && i < plan->nprepared; i++) made += before[i].end - before[i].start;
    free(before);
    return made < most ? made : most;
}

/* What the files take at most. The files of a repeat are removed before the next are made, and the ceilings'
 * too, unless the run's are kept. */
static uint64_t needed(const io_run *run, const io_report *report, io_world *world) {
    const io_case *c = &run->what;
    double think;
    uint64_t written = c->write ? report->bytes : 0;
    uint64_t beside = run->ceilings ? report->largest_share * (uint64_t)world->size * c->steps : 0;
    if (io_has_direct(c) && beside < written) beside = written;
    if (io_moves_nothing(c))
        written = 0;
    else if (c->pattern->schedule)
        written = replay_bytes(c->pattern->schedule(c->state, &think), written, &world->error);
    if (c->common.keep) return written + beside;
    return written > beside ? written : beside;
}

static int check_place(const io_run *run, io_world *world, io_report *report) {
    uint64_t need = run->space_check ? needed(run, report, world) : 0;
    /* With file systems local to nodes, each needs room for its share only. */
    io_check_dir(run->what.common.dir, need / (uint64_t)world->nodes, &world->error);
    if (run->what.own_dir && !world->error.set) io_check_dir(run->what.own_dir, 0, &world->error);
    if (!world->error.set) io_filesystem_of(run->what.common.dir, &report->filesystem, &world->error);
    return io_agree(world);
}

/* Pages of the size that any program gets: reads from memory into huge pages take 2 to 7 % longer. Touched,
 * so that first page faults are not timed. NULL if out of memory. */
static void *data_buffer(const io_world *world, uint64_t size, bool unaligned) {
    void *buffer = unaligned ? malloc(size) : aligned_alloc(ALIGNMENT, size);
    for (uint64_t at = 0; buffer && at < size; at += TOUCHED) {
        io_now_at(world, IO_AT_VALUES);
        memset((char *)buffer + at, 0, size - at < TOUCHED ? size - at : TOUCHED);
    }
    return buffer;
}

static uint64_t largest(const io_world *world, uint64_t mine) {
    uint64_t most = mine;
    IO_MPI(world, MPI_Allreduce, &mine, &most, 1, MPI_UINT64_T, MPI_MAX, world->comm);
    return most;
}

/* Room for the data of any process, because this one reads back another's, and for the ceilings. */
static uint64_t buffer_size(const run_data *w, io_world *world) {
    uint64_t mine = 0, ceilings = w->report.run->ceilings
                                      ? io_ceiling_buffer(w->session.what, w->report.largest_share)
                                      : 0;
    io_buffer_bytes(w->session.what, (uint64_t)world->rank, &mine, &world->error);
    uint64_t most = largest(world, mine > ceilings ? mine : ceilings);
    return (most / ALIGNMENT + 1) * ALIGNMENT;
}

static int prepare(const io_run *run, io_world *world, run_data *w) {
    *w = (run_data){
        .session = {
                    .world = world, .what = &run->what, .info = {MPI_INFO_NULL, MPI_INFO_NULL}, .found = &w->found}
    };
    io_found_start(&w->found, run->what.common.repeats * run->what.steps, &world->error);
    w->report = (io_report){.run = run, .world = world, .found = &w->found};
    w->report.bytes = io_total_bytes(&run->what, (uint64_t)world->size) * run->what.steps;
    w->report.largest_share =
        largest(world, run->what.pattern->bytes(run->what.state, (uint64_t)world->rank));
    w->report.buffer = buffer_size(w, world);
    if (check_place(run, world, &w->report)) return -1;
    w->samples = calloc(run->what.common.repeats, sizeof *w->samples);
    w->ceilings = run->ceilings ? calloc(run->what.common.repeats, sizeof *w->ceilings) : NULL;
    bool direct = io_has_direct(&run->what);
    w->direct = direct ? calloc(run->what.common.repeats, sizeof *w->direct) : NULL;
    w->report.direct = w->direct;
    w->report.scratch = calloc(run->what.common.repeats, sizeof *w->report.scratch);
    w->report.samples = w->samples;
    w->report.ceilings = w->ceilings;
    void *buffer = data_buffer(world, w->report.buffer, run->what.pattern->unaligned);
    if (!buffer || !w->samples || !w->report.scratch || (run->ceilings && !w->ceilings) ||
        (direct && !w->direct))
        io_fail(&world->error,
                "out of memory for %llu bytes of data per process; use more processes or less data",
                (unsigned long long)w->report.buffer);
    w->session.buffer = buffer;
    w->session.buffer_bytes = w->report.buffer;
    w->session.latency = io_latency_new(&world->error);
    io_hints_info(&run->what.hints, IO_HINT_OF_WRITING, &w->session.info[IO_WRITING], &world->error);
    io_hints_info(&run->what.hints, IO_HINT_OF_READING, &w->session.info[IO_READING], &world->error);
    return io_agree(world);
}

static int measure(const io_run *run, run_data *w) {
    for (uint64_t i = 0; i < run->what.common.repeats; i++) {
        w->session.repeat = i;
        if (io_measure(&w->session, &w->samples[i])) return -1;
        if (w->direct && io_measure_direct(&w->session, &w->direct[i])) return -1;
        if (run->ceilings &&
            io_measure_ceilings(&w->session, w->report.largest_share, &run->ceiling, &w->ceilings[i]))
            return -1;
        w->report.done++;
    }
    return 0;
}

/* The peak resident set size of each process in bytes, over processes. */
static void peak_rss(io_world *world, io_peak_rss *peak) {
    struct rusage usage;
    int64_t mine = 0, sum = 0;
    if (!getrusage(RUSAGE_SELF, &usage)) mine = (int64_t)usage.ru_maxrss * 1024;
    IO_MPI(world, MPI_Reduce, &mine, &peak->max, 1, MPI_INT64_T, MPI_MAX, 0, world->comm);
    IO_MPI(world, MPI_Reduce, &mine, &peak->min, 1, MPI_INT64_T, MPI_MIN, 0, world->comm);
    IO_MPI(world, MPI_Reduce, &mine, &sum, 1, MPI_INT64_T, MPI_SUM, 0, world->comm);
    peak->mean = sum / world->size;
}

static void release(run_data *w) {
    io_found_stop(&w->found);
    for (int d = 0; d < IO_DIRECTIONS; d++)
        if (w->session.info[d] != MPI_INFO_NULL) MPI_Info_free(&w->session.info[d]);
    json_decref(w->report.summary.files);
    json_decref(w->report.summary.first);
    free(w->session.buffer);
    io_latency_free(w->session.latency);
    free(w->samples);
    free(w->ceilings);
    free(w->direct);
    free(w->report.scratch);
}

/* Prints the first wrong byte in one line. */
static void print_mismatch(const io_report *r) {
    char *first = json_dumps(r->summary.first, JSON_COMPACT), *index;
    const json_t *m = r->summary.first;
    index = json_dumps(json_object_get(m, "index"), JSON_COMPACT);
    char *expected = json_dumps(json_object_get(m, "expected"), JSON_ENCODE_ANY);
    char *found = json_dumps(json_object_get(m, "found"), JSON_ENCODE_ANY);
    const json_t *offset = json_object_get(m, "offset");
    char place[64] = "";
    if (json_is_integer(offset))
        snprintf(place, sizeof place, "byte %lld of ", (long long)json_integer_value(offset));
    io_print_error("%llu of %llu elements are wrong; first: data set %s%s, %s%s: "
                   "expected %s, found %s (read by process %lld on %s)",
                   (unsigned long long)r->summary.wrong, (unsigned long long)r->summary.elements,
                   json_string_value(json_object_get(m, "dataset")), index, place,
                   json_string_value(json_object_get(m, "file")), expected, found,
                   (long long)json_integer_value(json_object_get(m, "process")),
                   json_string_value(json_object_get(m, "host")));
    free(first);
    free(index);
    free(expected);
    free(found);
}

/* Process 0 writes the document and prints errors. */
static void report_run(const io_run *run, io_world *world, run_data *w, bool failed) {
    io_report *r = &w->report;
    if (run->json) {
        json_t *document = io_result(r, failed ? world->error.text : NULL, false);
        io_error error = {0};
        if (io_write_json(document, run->json, &error) && !world->error.set) world->error = error;
        json_decref(document);
    }
    if (!failed && r->summary.wrong) print_mismatch(r);
}

/* Writes the document under a temporary name first, because two processes may give up at once. Symbolic links
 * are followed. Devices and pipes are written directly, never replaced. */
static void write_final_document(run_data *w, const char *why, bool hung) {
    const io_run *run = w->report.run;
    io_error ignored = {0};
    char target[PATH_MAX], mine[PATH_MAX + 64];
    struct stat there;
    if (!run->json || !strcmp(run->json, "-")) return;
    w->report.summary = (io_summary){.files = json_array()};
    json_t *document = io_result(&w->report, why, hung);
    if (!document) return;
    bool exists = !stat(run->json, &there);
    if (!exists || !realpath(run->json, target)) snprintf(target, sizeof target, "%s", run->json);
    snprintf(mine, sizeof mine, "%s.%d-%ld.part", target, w->report.world->rank, (long)getpid());
    if (exists && !S_ISREG(there.st_mode))
        io_write_json(document, run->json, &ignored);
    else if (!io_write_json(document, mine, &ignored) && rename(mine, target))
        unlink(mine);
}

static void remove_run_files(run_data *w, bool of_all) {
    io_session *s = w->session.world->measuring ? w->session.world->measuring : &w->session;
    if (of_all)
        io_remove_files_of_all(s);
    else
        io_remove_files(s);
    if (s != &w->session && s->directory_is_own) rmdir(s->what->common.dir);
}

/* A process that ends the job writes the document if possible, and removes partial files. The document comes
 * first, because removing files may hang like the run did; but last after a crash, which may have damaged the
 * memory that the document needs. */
static void abandon(void *data, const char *why, io_ending how) {
    run_data *w = data;
    if (how == IO_ENDS_CRASHED) remove_run_files(w, true);
    write_final_document(w, why, how == IO_ENDS_HUNG);
    if (how != IO_ENDS_CRASHED) remove_run_files(w, how == IO_ENDS_HUNG);
}

int io_run_all(const io_run *run, io_world *world, io_report_callback *on_success, void *to) {
    run_data w;
    world->abandon = abandon;
    world->abandon_data = &w;
    bool failed = prepare(run, world, &w) || measure(run, &w);
    io_schema schema;
    run->what.pattern->schema(run->what.state, 0, &schema);
    io_summarise(&w.found, world, &schema, &w.report.summary);
    peak_rss(world, &w.report.peak_rss);
    world->abandon = NULL;
    if (!failed) failed = io_agree(world) != 0;
    if (failed) io_world_print_error(world);
    if (world->rank == 0) {
        report_run(run, world, &w, failed);
        bool stdout_taken = run->json && !strcmp(run->json, "-");
        if (!failed && !stdout_taken) on_success(&w.report, to);
    }
    int status = failed || w.report.summary.wrong;
    if (!failed && world->rank == 0 && world->error.set) { /* the document could not be written */
        io_world_print_error(world);
        status = 1;
    }
    IO_MPI(world, MPI_Bcast, &status, 1, MPI_INT, 0, world->comm);
    release(&w);
    return status;
}
