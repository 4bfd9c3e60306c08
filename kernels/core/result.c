/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"
#include "result_hints.h"
#include "series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef IOKERNEL_VERSION
#define IOKERNEL_VERSION "unknown"
#endif
#ifndef IOKERNEL_BUILD
#define IOKERNEL_BUILD "unknown"
#endif

json_t *io_libraries(void) {
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n, length = 0;
    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, "\n,")] = '\0'; /* the first words: name and version */
    for (char *tab = mpi; (tab = strchr(tab, '\t'));) *tab = ' ';
    json_t *libraries = json_pack("{s:s}", "mpi", mpi);
    const io_method_entry *methods = io_methods(&n);
    for (int i = 0; i < n; i++) {
        char text[64];
        if (!methods[i].method || !methods[i].method->version) continue;
        methods[i].method->version(text, sizeof text);
        json_object_set_new(libraries, methods[i].name, json_string(text));
    }
    return libraries;
}

static json_t *info_json(MPI_Info info) {
    json_t *all = json_object();
    int n = 0;
    if (info != MPI_INFO_NULL) MPI_Info_get_nkeys(info, &n);
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found) json_object_set_new(all, key, json_string(value));
    }
    return all;
}

static json_t *asked_json(const io_report *r, json_t *hints, json_t *ways) {
    const io_run *run = r->run;
    json_t *argv = json_array();
    for (int i = 0; i < run->argc; i++) json_array_append_new(argv, json_string(run->argv[i]));
    return json_pack(
        "{s:o,s:s,s:o,s:s,s:o,s:o,s:s,s:O,s:O,s:s,s:I,s:I,s:b,s:f,s:I,s:s}", "argv", argv, "pattern",
        run->pattern->name, "pattern_options", run->pattern->describe(run->state), "method",
        run->method->name, "mode", run->method->modes ? json_string(io_mode_name(run->mode)) : json_null(),
        "method_options", run->method->describe ? run->method->describe(run->method_state) : json_object(),
        "directory", run->dir, "hints", hints, "hints_environment", ways, "prefix", run->prefix, "steps",
        (json_int_t)run->steps, "repeats", (json_int_t)run->repeats, "fsync", run->fsync, "compute_seconds",
        run->compute_seconds, "seed", (json_int_t)run->seed, "buffer", run->reuse ? "reused" : "whole");
}

static json_t *system_json(const io_report *r) {
    struct utsname name = {0};
    char when[32];
    time_t t = time(NULL);
    uname(&name);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    json_t *hosts = json_array();
    /* Process 0 knows all hosts; another one that ends the job alone knows its own. */
    for (int i = 0; r->world->hosts && i < r->world->job_nodes; i++)
        json_array_append_new(hosts, json_string(r->world->hosts + (size_t)i * IO_HOST_NAME));
    if (!r->world->hosts) json_array_append_new(hosts, json_string(name.nodename));
    const io_filesystem *fs = &r->filesystem;
    return json_pack("{s:s,s:i,s:i,s:i,s:o,s:i,s:i,s:s++,s:{s:s,s:s,s:s,s:s}}", "time", when, "processes",
                     r->world->job_size, "io_processes", r->world->job_size - r->world->size, "nodes",
                     r->world->job_nodes, "hosts", hosts, "processes_per_node", r->world->job_per_node,
                     "cores_per_node", (int)sysconf(_SC_NPROCESSORS_ONLN), "kernel", name.sysname, " ",
                     name.release, "filesystem", "type", fs->type, "mount", fs->mount, "device", fs->device,
                     "options", fs->options);
}

/* ROMIO shows its romio_ hints in a file's info, OMPIO none of them. */
static json_t *mpi_io_name(const io_report *r, const json_t *hints) {
    const char *key;
    json_t *value;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (!(r->run->method->traits & IO_TAKES_HINTS)) return json_null();
    json_object_foreach((json_t *)(uintptr_t)hints, key,
                        value) if (!strncmp(key, "romio_", 6)) return json_string("ROMIO");
    MPI_Get_library_version(version, &length);
    return strstr(version, "Open MPI") ? json_string("OMPIO") : json_null();
}

static const char *caches_word(const io_report *r) {
    if (io_filesystem_is_memory(&r->filesystem)) return "memory";
    return r->summary.resident || !r->summary.cached_bytes ? "cached" : "dropped";
}

static json_t *used_json(const io_report *r, const json_t *asked, const json_t *ways) {
    json_t *hints = info_json(r->found->hints);
    double fraction =
        r->summary.cached_bytes ? (double)r->summary.resident / (double)r->summary.cached_bytes : 0;
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "mpi_io", mpi_io_name(r, hints), "hints", hints,
                     "hints_ignored", io_ignored_hints(asked, ways, hints), "caches",
                     r->run->read && !(r->run->method->traits & IO_MOVES_NOTHING)
                         ? json_string(caches_word(r))
                         : json_null(),
                     "resident_fraction", json_real(fraction));
}

static json_t *payload_json(const io_report *r) {
    const io_run *run = r->run;
    io_schema schema;
    json_t *datasets = json_array();
    run->pattern->schema(run->state, 0, &schema);
    for (int i = 0; i < schema.ndatasets; i++) {
        const io_dataset *d = &schema.datasets[i];
        json_t *shape = json_array();
        for (int j = 0; j < d->ndims; j++)
            json_array_append_new(shape, json_integer((json_int_t)schema.dims[d->dim[j]].length));
        bool placed = r->found->offsets && r->found->offsets[i] != UINT64_MAX;
        json_array_append_new(
            datasets, json_pack("{s:s,s:s,s:o,s:I,s:o}", "name", d->name, "type", io_type_name(d->type),
                                "shape", shape, "bytes", (json_int_t)io_dataset_bytes(&schema, i), "offset",
                                placed ? json_integer((json_int_t)r->found->offsets[i]) : json_null()));
    }
    return json_pack("{s:I,s:I,s:o}", "bytes", (json_int_t)r->bytes, "calls",
                     (json_int_t)run->pattern->calls(run->state), "datasets", datasets);
}

static json_t *time_json(io_time time) {
    return json_pack("{s:f,s:f,s:f}", "min", time.min, "mean", time.mean, "max", time.max);
}

static json_t *stretches_json(const io_sample *s, int direction, const char *const *names) {
    json_t *all = json_array();
    for (int i = 0; names[i]; i++) {
        json_t *one = time_json(s->stretch[direction][i]);
        uint64_t bytes = s->stretch_bytes[direction][i];
        double seconds = s->stretch[direction][i].max;
        json_object_set_new(one, "name", json_string(names[i]));
        json_object_set_new(one, "bytes", json_integer((json_int_t)bytes));
        json_object_set_new(one, "bandwidth",
                            seconds > 0 ? json_real((double)bytes / seconds / 1048576) : json_null());
        json_array_append_new(all, one);
    }
    return all;
}

json_t *io_direction_json(const io_sample *s, int direction, bool ran, const char *const *names) {
    if (!ran) return json_null();
    json_t *phases = json_object();
    for (int p = 0; p < IO_PHASES; p++)
        if (io_phases[p].direction == direction && (p != IO_DRAIN || s->queue.limit))
            json_object_set_new(phases, io_phases[p].name, time_json(s->phase[p]));
    json_t *all =
        json_pack("{s:f,s:f,s:I,s:o}", "seconds", s->seconds[direction], "bandwidth", s->bandwidth[direction],
                  "library_calls", (json_int_t)s->calls[direction], "phases", phases);
    if (names) json_object_set_new(all, "stretches", stretches_json(s, direction, names));
    return all;
}

/* Of a series; an operation that did not run is null. */
static json_t *series_json(const io_report *r, const io_sample *s) {
    const io_pattern *p = r->run->pattern;
    if (!p->series) return json_null();
    json_t *all =
        json_pack("{s:I}", "files_per_process", (json_int_t)(p->series(r->run->state) * r->run->steps));
    for (int i = 0; i < IO_OPERATIONS; i++) {
        const io_operation_time *t = &s->operation[i];
        json_object_set_new(all, io_operation_names[i],
                            t->all > 0 ? json_pack("{s:o,s:f,s:o}", "seconds", time_json(t->seconds), "rate",
                                                   t->all, "rate_per_process", time_json(t->rate))
                                       : json_null());
    }
    return all;
}

static json_t *ceiling_json(const io_sample *s) {
    return json_pack("{s:f,s:f}", "write", s->bandwidth[IO_WRITING], "read", s->bandwidth[IO_READING]);
}

static json_t *run_direction_json(const io_report *r, uint64_t repeat, int direction, bool ran) {
    json_t *all = io_direction_json(&r->samples[repeat], direction, ran, r->run->pattern->stretches);
    json_t *spans = ran ? json_array() : NULL;
    for (uint64_t i = 0; ran && i < r->found->nspans; i++) {
        const io_span *span = &r->found->spans[i];
        if (span->repeat == repeat && span->direction == direction)
            json_array_append_new(spans, json_pack("{s:s,s:f,s:f}", "phase", span->phase, "begin",
                                                   span->begin, "end", span->end));
    }
    if (ran) json_object_set_new(all, "spans", spans);
    return all;
}

static json_t *samples_json(const io_report *r) {
    json_t *samples = json_array();
    for (uint64_t i = 0; i < r->done; i++) {
        const io_sample *s = &r->samples[i];
        json_t *ceilings = r->ceilings ? json_pack("{s:o,s:o}", "fpp", ceiling_json(&r->ceilings[i].fpp),
                                                   "shared", ceiling_json(&r->ceilings[i].shared))
                                       : json_null();
        json_array_append_new(samples, json_pack("{s:I,s:f,s:o,s:o,s:o,s:o,s:o*,s:o*,s:o*}", "repeat",
                                                 (json_int_t)i, "fill_seconds", s->fill, "write",
                                                 run_direction_json(r, i, IO_WRITING, r->run->write), "read",
                                                 run_direction_json(r, i, IO_READING, r->run->read), "series",
                                                 series_json(r, s), "ceilings", ceilings, "compute_seconds",
                                                 io_between_json(r, i), "queue", io_queue_json(r, i),
                                                 "direct", io_direct_json(r, i)));
    }
    return samples;
}

/* Every figure of the summary: its name and what it is of one repeat; negative is "not measured". */
double io_figure_write(const io_report *r, uint64_t i) {
    return r->run->write ? r->samples[i].bandwidth[IO_WRITING] : -1;
}
double io_figure_read(const io_report *r, uint64_t i) {
    return r->run->read ? r->samples[i].bandwidth[IO_READING] : -1;
}
static double open_time(const io_report *r, uint64_t i) {
    return r->run->write ? r->samples[i].phase[IO_CREATE].max : -1;
}
static double define_time(const io_report *r, uint64_t i) {
    return r->run->write && r->run->method->define ? r->samples[i].phase[IO_DEFINE].max : -1;
}
static double close_time(const io_report *r, uint64_t i) {
    return r->run->write ? r->samples[i].phase[IO_CLOSE].max : -1;
}
static double read_open_time(const io_report *r, uint64_t i) {
    return r->run->read ? r->samples[i].phase[IO_OPEN].max : -1;
}
static double rate_of(const io_report *r, uint64_t i, io_operation which) {
    double rate = r->samples[i].operation[which].all;
    return rate > 0 ? rate : -1;
}
static double create_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_CREATE); }
static double stat_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_STAT); }
static double open_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_OPEN); }
static double remove_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_REMOVE); }
static double fraction(const io_report *r, uint64_t i, int direction, bool shared) {
    if (!r->ceilings || r->run->method->traits & IO_MOVES_NOTHING) return -1;
    const io_sample *ceiling = shared ? &r->ceilings[i].shared : &r->ceilings[i].fpp;
    return ceiling->bandwidth[direction] > 0
               ? r->samples[i].bandwidth[direction] / ceiling->bandwidth[direction]
               : -1;
}
static double write_fpp(const io_report *r, uint64_t i) { return fraction(r, i, IO_WRITING, false); }
static double read_fpp(const io_report *r, uint64_t i) { return fraction(r, i, IO_READING, false); }
static double write_shared(const io_report *r, uint64_t i) { return fraction(r, i, IO_WRITING, true); }
static double read_shared(const io_report *r, uint64_t i) { return fraction(r, i, IO_READING, true); }

static const struct {
    const char *name;
    double (*figure)(const io_report *, uint64_t);
} figures[] = {
    {"write_bw",              io_figure_write},
    {"read_bw",               io_figure_read },
    {"open_time",             open_time      },
    {"define_time",           define_time    },
    {"close_time",            close_time     },
    {"read_open_time",        read_open_time },
    {"create_rate",           create_rate    },
    {"stat_rate",             stat_rate      },
    {"open_rate",             open_rate      },
    {"remove_rate",           remove_rate    },
    {"write_fraction_fpp",    write_fpp      },
    {"read_fraction_fpp",     read_fpp       },
    {"write_fraction_shared", write_shared   },
    {"read_fraction_shared",  read_shared    },
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double io_median(const io_report *r, double (*figure)(const io_report *, uint64_t)) {
    uint64_t n = r->done;
    for (uint64_t i = 0; i < n; i++) r->scratch[i] = figure(r, i);
    if (!n) return -1;
    qsort(r->scratch, n, sizeof *r->scratch, by_value);
    return (r->scratch[(n - 1) / 2] + r->scratch[n / 2]) / 2;
}

static json_t *summary_json(const io_report *r) {
    json_t *summary = json_object();
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double m = io_median(r, figures[i].figure);
        json_object_set_new(summary, figures[i].name, m < 0 ? json_null() : json_real(m));
    }
    io_summarise_servers(r, summary);
    return summary;
}

const char *io_verdict(const io_report *r) {
    if (r->summary.wrong) return "mismatch";
    if (r->run->method->traits & IO_MOVES_NOTHING) return "nothing moved";
    return r->run->read && r->done == r->run->repeats && r->summary.elements ? "verified" : "not asked";
}

json_t *io_result(const io_report *r, const char *error) {
    const char *status = error ? "error" : r->summary.wrong ? "failed" : "ok";
    json_t *ways = json_object(), *hints = io_asked_hints(&r->run->hints, environ, ways);
    json_t *verification =
        json_pack("{s:s,s:I,s:I,s:I,s:O?}", "verdict", io_verdict(r), "bytes", (json_int_t)r->summary.bytes,
                  "elements", (json_int_t)r->summary.elements, "mismatches", (json_int_t)r->summary.wrong,
                  "first", r->summary.first);
    json_t *document = json_pack(
        "{s:s,s:s,s:s?,s:{s:s,s:s,s:s,s:s},s:o,s:o,s:o,s:o,s:o,s:O,s:I,s:I,s:o,s:o,s:o,s:{s:I,s:I,s:I,s:I,s:"
        "I}}",
        "schema", "iogauge.result/1", "status", status, "error", error, "program", "name", "iokernel",
        "version", IOKERNEL_VERSION, "build", IOKERNEL_BUILD, "compiler", __VERSION__, "libraries",
        io_libraries(), "asked", asked_json(r, hints, ways), "system", system_json(r), "used",
        used_json(r, hints, ways), "payload", payload_json(r), "files", r->summary.files, "file_count",
        (json_int_t)r->summary.file_count, "file_bytes", (json_int_t)r->summary.file_bytes, "samples",
        samples_json(r), "summary", summary_json(r), "verification", verification, "memory", "peak_rss",
        (json_int_t)r->peak_rss.max, "peak_rss_mean", (json_int_t)r->peak_rss.mean, "peak_rss_min",
        (json_int_t)r->peak_rss.min, "data", (json_int_t)r->largest_share, "buffer", (json_int_t)r->buffer);
    json_decref(hints);
    json_decref(ways);
    return document;
}

int io_write_json(const json_t *document, const char *path, io_error *error) {
    if (!document) return io_fail(error, "out of memory for the result document");
    if (!strcmp(path, "-")) {
        if (json_dumpf(document, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout))
            return io_fail_errno(error, "--json", "stdout", errno);
        return 0;
    }
    errno = 0;
    if (!json_dump_file(document, path, JSON_INDENT(1))) return 0;
    return io_fail_errno(error, "--json", path, errno);
}
