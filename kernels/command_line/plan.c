/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "driver/move.h"
#include "report/json_file.h"

typedef struct {
    /* Of a repeat: bytes of all, calls per process; of the process that has most: its data, its buffer. */
    uint64_t files, bytes, calls, memory, buffer;
} plan;

static int too_much(io_error *error) {
    return io_fail_usage(error, "--plan: more than 2^64 bytes; right is less data or fewer steps");
}

static int make_plan(const io_run *run, plan *p, io_error *error) {
    uint64_t step = 0, n = run->processes, most = 0;
    bool own = io_own_files(&run->what);
    for (uint64_t owner = 0; owner < n; owner++) {
        uint64_t bytes = run->what.pattern->bytes(run->what.state, owner);
        if (__builtin_add_overflow(step, bytes, &step)) return too_much(error);
        if (bytes > p->memory) {
            p->memory = bytes;
            most = owner;
        }
    }
    if (__builtin_mul_overflow(step, run->what.steps, &p->bytes)) return too_much(error);
    uint64_t files = io_series_length(&run->what);
    p->files = (own ? n * files : 1) * run->what.steps;
    p->calls = run->what.pattern->calls(run->what.state) * run->what.steps;
    return io_buffer_bytes(&run->what, most, &p->buffer, error);
}

int io_plan(const io_run *run, io_error *error) {
    plan p = {0};
    if (make_plan(run, &p, error)) return -1;
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
