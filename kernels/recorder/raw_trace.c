/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the trace once, after recording has ended, so that it is not recorded itself. */
#include "raw_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"

#define MAX_NAMES 256

/* Darshan's names. */
static const char *const heatmap_name[MODULES] = {"heatmap:POSIX", "heatmap:MPIIO"};

static uint32_t count_records(const recorder *from) {
    uint32_t n = 0;
    for (const record *r = from->all; r; r = r->all) n++;
    return n;
}

static void read_command(char *command, size_t size) {
    size_t used = output_read("/proc/self/cmdline", command, size);
    for (size_t i = 0; i + 1 < used; i++)
        if (!command[i]) command[i] = ' ';
}

static trace_header header_of(const recorder *from) {
    const struct timespec *origin = &from->clock.origin;
    int64_t began = (int64_t)origin->tv_sec * 1000000000 + origin->tv_nsec + from->unix_offset;
    trace_header h = {
        .version = TRACE_VERSION,
        .flags = (from->complete ? TRACE_COMPLETE : 0) | (from->partial ? TRACE_PARTIAL : 0) |
                 (from->forked ? TRACE_FORKED : 0) | (from->mpi ? TRACE_MPI : 0),
        .rank = from->rank,
        .processes = from->processes,
        .pid = from->pid,
        .uid = getuid(),
        .start_seconds = began / 1000000000,
        .start_nanoseconds = began % 1000000000,
        .monotonic_seconds = origin->tv_sec,
        .monotonic_nanoseconds = origin->tv_nsec,
        .seconds = clock_now(&from->clock),
        .records = count_records(from),
        .posix_counters = POSIX_COUNTERS,
        .mpiio_counters = MPIIO_COUNTERS,
        .time_counters = TIME_COUNTERS,
        .bins = BINS,
        .modules = MODULES,
        .library = IOGAUGE_RECORDER,
    };
    memcpy(h.magic, TRACE_MAGIC, sizeof h.magic);
    gethostname(h.host, sizeof h.host - 1);
    read_command(h.command, sizeof h.command);
    return h;
}

static void put(output *out, const void *data, size_t size, size_t n) { output_put(out, data, size * n); }

static void put_common(output *out, const common_values *v) {
    for (int i = 0; i < v->used; i++) {
        put(out, &v->value[i], sizeof v->value[i], 1);
        put(out, &v->count[i], sizeof v->count[i], 1);
    }
}

/* The names of the calls made, numbered: few enough for a linear search. */
typedef struct {
    const char *name[MAX_NAMES];
    uint64_t used;
} call_names;

static uint32_t number_of(call_names *names, const char *call) {
    for (uint64_t i = names->used; i-- > 0;)
        if (names->name[i] == call) return (uint32_t)i;
    if (names->used == MAX_NAMES) return MAX_NAMES;
    names->name[names->used] = call;
    return (uint32_t)names->used++;
}

static void put_marks(output *out, const segments *list, call_names *names) {
    for (size_t i = 0; i < list->used; i++) {
        const segment_mark *m = &list->mark[i];
        trace_mark mark = {m->at, m->sequence, number_of(names, m->call)};
        put(out, &mark, sizeof mark, 1);
    }
}

static void put_events(output *out, const recorder *from, const call_names *names) {
    put(out, &names->used, sizeof names->used, 1);
    for (uint64_t i = 0; i < names->used; i++) {
        char name[NAME_ROOM] = {0};
        snprintf(name, sizeof name, "%s", names->name[i]);
        put(out, name, sizeof name, 1);
    }
    uint64_t used = from->events.used;
    put(out, &used, sizeof used, 1);
    put(out, from->events.entry, sizeof *from->events.entry, used);
    used = from->views.used;
    put(out, &used, sizeof used, 1);
    for (size_t i = 0; i < used; i++) {
        const view *v = &from->views.entry[i];
        put(out, v->word, sizeof v->word, 1);
        put(out, &v->pieces, sizeof v->pieces, 1);
        put(out, v->piece, sizeof *v->piece, v->pieces);
    }
}

static void put_shapes(output *out, const recorder *from) {
    uint64_t used = from->shapes.used;
    put(out, &used, sizeof used, 1);
    for (size_t i = 0; i < used; i++) {
        const shape *s = from->shapes.entry[i];
        put(out, &s->size, sizeof s->size, 1);
        put(out, s->data, 1, s->size);
    }
}

static void put_record(output *out, const record *r, call_names *names) {
    trace_record head = {
        .id = record_id(r->path),
        .segments = {r->trace[RECORD_READ].used, r->trace[RECORD_WRITE].used},
        .module = (uint32_t)r->module,
        .path = (uint32_t)strlen(r->path),
        .sizes = (uint32_t)r->sizes.used,
        .strides = (uint32_t)r->strides.used,
    };
    put(out, &head, sizeof head, 1);
    put(out, r->path, 1, head.path);
    put(out, r->counter, sizeof r->counter[0], r->module == MODULE_POSIX ? POSIX_COUNTERS : MPIIO_COUNTERS);
    put(out, r->time, sizeof r->time[0], TIME_COUNTERS);
    put_common(out, &r->sizes);
    put_common(out, &r->strides);
    for (int d = 0; d < DIRECTIONS; d++) put(out, r->trace[d].entry, sizeof(segment), r->trace[d].used);
    for (int d = 0; d < DIRECTIONS; d++) put_marks(out, &r->trace[d], names);
}

bool trace_write(recorder *from) {
    output *out = &from->out;
    trace_header header = header_of(from);
    output_begin(out, "process", ".trace");
    put(out, &header, sizeof header, 1);
    for (int m = 0; m < MODULES; m++) {
        uint64_t id = record_id(heatmap_name[m]);
        put(out, &id, sizeof id, 1);
        put(out, &from->heat[m], sizeof from->heat[m], 1);
    }
    call_names names = {.used = 0};
    for (const record *r = from->all; r; r = r->all) put_record(out, r, &names);
    put_events(out, from, &names);
    put_shapes(out, from);
    put(out, TRACE_END, 1, strlen(TRACE_END));
    return output_end(out);
}
