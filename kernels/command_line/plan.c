/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "command_line/configure.h"
#include "driver/move.h"
#include "report/json_file.h"

typedef struct {
    /* Per repeat: total bytes and calls per process; data and buffer of the process with the most data. */
    uint64_t files, bytes, calls, memory, buffer;
} plan;

/* The largest machines have about ten million cores, and the pattern is called for each process. */
#define MAX_PROCESSES ((uint64_t)1 << 22)

/* All numbers stay below 2^63, the limit of JSON readers. */
static bool product(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out) && *out <= INT64_MAX;
}

static int too_many_steps(const io_run *run, const char *of_what, io_error *error) {
    return io_fail_usage(error, "--steps %" PRIu64 ": more than 2^63 %s in total; use fewer or smaller dumps",
                         run->what.steps, of_what);
}

/* Bytes per dump, and the process with the most. */
static int add_up(const io_run *run, plan *p, uint64_t *dump, uint64_t *most, io_error *error) {
    *dump = *most = 0;
    for (uint64_t owner = 0; owner < run->processes; owner++) {
        uint64_t bytes = run->what.pattern->bytes(run->what.state, owner);
        if (__builtin_add_overflow(*dump, bytes, dump) || *dump > INT64_MAX)
            return io_fail_usage(
                error, "--procs %" PRIu64 ": more than 2^63 bytes per dump; use less data per process",
                run->processes);
        if (bytes <= p->memory) continue;
        p->memory = bytes;
        *most = owner;
    }
    return 0;
}

static int make_plan(const io_run *run, plan *p, io_error *error) {
    const io_case *c = &run->what;
    uint64_t dump, most, files = io_series_length(c);
    if (add_up(run, p, &dump, &most, error)) return -1;
    if (!product(dump, c->steps, &p->bytes)) return too_many_steps(run, "bytes", error);
    if (io_own_files(c) && !product(files, run->processes, &files))
        return too_many_steps(run, "files", error);
    if (!product(files, c->steps, &p->files)) return too_many_steps(run, "files", error);
    if (!product(c->pattern->transfers(c->state), c->steps, &p->calls))
        return too_many_steps(run, "calls", error);
    return io_buffer_bytes(c, most, &p->buffer, error);
}

static int configure(io_run *run, io_error *error) {
    run->plan = true;
    if (!run->processes) run->processes = 1;
    if (run->processes <= MAX_PROCESSES) return io_configure(run, run->processes, error);
    return io_fail_usage(error, "--procs %" PRIu64 ": expected at most %" PRIu64, run->processes,
                         MAX_PROCESSES);
}

int io_plan(io_run *run, io_error *error) {
    plan p = {0};
    if (configure(run, error) || make_plan(run, &p, error)) return -1;
    if (run->json) {
        json_t *document =
            json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "schema", "iogauge.plan/1", "pattern",
                      run->what.pattern->name, "method", run->what.method->name, "processes",
                      (json_int_t)run->processes, "files", (json_int_t)p.files, "bytes", (json_int_t)p.bytes,
                      "calls_per_process", (json_int_t)p.calls, "memory_per_process", (json_int_t)p.memory,
                      "buffer_per_process", (json_int_t)p.buffer, "pattern_options",
                      run->what.pattern->describe(run->what.state));
        int status = io_write_json(document, run->json, error);
        json_decref(document);
        return status;
    }
    char *options = json_dumps(run->what.pattern->describe(run->what.state), 0);
    printf(" plan: %s by %s, %" PRIu64 " processes, %" PRIu64 " dump%s\n", run->what.pattern->name,
           run->what.method->name, run->processes, run->what.steps, run->what.steps > 1 ? "s" : "");
    printf(" %-20s: %s\n", "options", options);
    printf(" %-20s: %" PRIu64 "\n", "files", p.files);
    printf(" %-20s: %" PRIu64 " bytes, %.3f GiB\n", "payload", p.bytes, (double)p.bytes / 1073741824);
    printf(" %-20s: %" PRIu64 "\n", "calls per process", p.calls);
    printf(" %-20s: %" PRIu64 " bytes, %.3f MiB\n", "data per process", p.memory, (double)p.memory / 1048576);
    printf(" %-20s: %" PRIu64 " bytes, %.3f MiB\n", "buffer per process", p.buffer,
           (double)p.buffer / 1048576);
    return 0;
}
