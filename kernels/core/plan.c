/* SPDX-License-Identifier: BSD-3-Clause */
/* --plan: what a run would do, for any number of processes, from the patterns' own layout. */
#include <inttypes.h>
#include <stdio.h>

#include "run.h"

typedef struct {
    /* Of a repeat: bytes of all, calls per process; of the process that has most: its data, its buffer. */
    uint64_t files, bytes, calls, memory, buffer;
} plan;

static int too_much(io_error *error) {
    return io_fail_usage(error, "--plan: more than 2^64 bytes; right is less data or fewer steps");
}

static int make_plan(const io_run *run, plan *p, io_error *error) {
    uint64_t step = 0, n = run->processes, most = 0;
    io_schema schema;
    run->pattern->schema(run->state, 0, &schema);
    bool own = schema.file_per_process || run->method->traits & IO_FILE_PER_PROCESS;
    for (uint64_t owner = 0; owner < n; owner++) {
        uint64_t bytes = run->pattern->bytes(run->state, owner);
        if (__builtin_add_overflow(step, bytes, &step)) return too_much(error);
        if (bytes > p->memory) {
            p->memory = bytes;
            most = owner;
        }
    }
    if (__builtin_mul_overflow(step, run->steps, &p->bytes)) return too_much(error);
    uint64_t files = run->pattern->series ? run->pattern->series(run->state) : 1;
    p->files = (own ? n * files : 1) * run->steps;
    p->calls = run->pattern->calls(run->state) * run->steps;
    const io_case what = {.pattern = run->pattern,
                          .state = run->state,
                          .method = run->method,
                          .mode = run->mode,
                          .reuse = run->reuse};
    return io_buffer_bytes(&what, most, &p->buffer, error);
}

int io_plan(const io_run *run, io_error *error) {
    plan p = {0};
    if (make_plan(run, &p, error)) return -1;
    if (run->json) {
        json_t *document = json_pack(
            "{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "schema", "iogauge.plan/1", "pattern",
            run->pattern->name, "method", run->method->name, "processes", (json_int_t)run->processes, "files",
            (json_int_t)p.files, "bytes", (json_int_t)p.bytes, "calls_per_process", (json_int_t)p.calls,
            "memory_per_process", (json_int_t)p.memory, "buffer_per_process", (json_int_t)p.buffer,
            "pattern_options", run->pattern->describe(run->state));
        int status = io_write_json(document, run->json, error);
        json_decref(document);
        return status;
    }
    char *options = json_dumps(run->pattern->describe(run->state), 0);
    printf(" plan: %s by %s, %" PRIu64 " processes, %" PRIu64 " dump%s\n", run->pattern->name,
           run->method->name, run->processes, run->steps, run->steps > 1 ? "s" : "");
    printf(" %-20s: %s\n", "options", options);
    printf(" %-20s: %" PRIu64 "\n", "files", p.files);
    printf(" %-20s: %" PRIu64 " bytes, %.3f GiB\n", "payload", p.bytes, (double)p.bytes / 1073741824);
    printf(" %-20s: %" PRIu64 "\n", "calls per process", p.calls);
    printf(" %-20s: %" PRIu64 " bytes, %.3f MiB\n", "data per process", p.memory, (double)p.memory / 1048576);
    printf(" %-20s: %" PRIu64 " bytes, %.3f MiB\n", "buffer per process", p.buffer,
           (double)p.buffer / 1048576);
    return 0;
}
