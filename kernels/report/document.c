/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "method_roles.h"
#include "report/document_hints.h"
#include "report/libraries.h"
#include "report/samples.h"
#include "report/server_figures.h"

#ifndef IOKERNEL_VERSION
#define IOKERNEL_VERSION "unknown"
#endif
#ifndef IOKERNEL_BUILD
#define IOKERNEL_BUILD "unknown"
#endif

static json_t *info_json(MPI_Info info) {
    json_t *all = json_object();
    int n = 0;
    if (info == MPI_INFO_NULL || MPI_Info_get_nkeys(info, &n)) n = 0;
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;
        if (MPI_Info_get_nthkey(info, i, key) || MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found))
            continue;
        if (found) json_object_set_new(all, key, json_string(value));
    }
    return all;
}

static json_t *asked_json(const io_report *r, json_t *hints, json_t *sources) {
    const io_run *run = r->run;
    const io_option_functions *own = run->what.method->options;
    json_t *argv = json_array();
    for (int i = 0; i < run->argc; i++) json_array_append_new(argv, json_string(run->argv[i]));
    return json_pack("{s:o,s:s,s:o,s:s,s:o,s:o,s:s,s:O,s:O,s:s,s:I,s:I,s:b,s:f,s:I,s:s}", "argv", argv,
                     "pattern", run->what.pattern->name, "pattern_options",
                     run->what.pattern->describe(run->what.state), "method", run->what.method->name, "mode",
                     run->what.method->modes ? json_string(io_mode_name(run->what.mode)) : json_null(),
                     "method_options", own ? own->describe(run->what.method_state) : json_object(),
                     "directory", run->what.common.dir, "hints", hints, "hints_environment", sources,
                     "prefix", run->what.prefix, "steps", (json_int_t)run->what.steps, "repeats",
                     (json_int_t)run->what.common.repeats, "fsync", run->what.common.fsync, "compute_seconds",
                     run->what.compute_seconds, "seed", (json_int_t)run->what.seed, "buffer",
                     run->what.reuse ? "reused" : "whole");
}

static json_t *system_json(const io_report *r) {
    struct utsname name = {0};
    char when[32];
    time_t t = time(NULL);
    uname(&name);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    json_t *hosts = json_array();
    /* Process 0 knows all hosts; another process that ends the job knows only its own. */
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

/* ROMIO shows its romio_ hints in the info of a file, OMPIO does not; but in Open MPI the info holds only the
 * hints given, whichever is in use. */
static json_t *mpi_io_name(const io_report *r, const json_t *hints) {
    const char *key;
    json_t *value;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    if (!(r->run->what.method->traits & IO_TAKES_HINTS)) return json_null();
    if (io_openmpi_romio()) return json_string("ROMIO");
    json_object_foreach((json_t *)(uintptr_t)hints, key,
                        value) if (!strncmp(key, "romio_", 6)) return json_string("ROMIO");
    MPI_Get_library_version(version, &length);
    return strstr(version, "Open MPI") ? json_string("OMPIO") : json_null();
}

static const char *caches_word(const io_report *r) {
    if (io_filesystem_is_memory(&r->filesystem)) return "memory";
    return r->summary.resident || !r->summary.cached_bytes ? "cached" : "dropped";
}

static json_t *used_json(const io_report *r, const json_t *asked, const json_t *sources) {
    json_t *hints = info_json(r->found->hints);
    double fraction =
        r->summary.cached_bytes ? (double)r->summary.resident / (double)r->summary.cached_bytes : 0;
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "mpi_io", mpi_io_name(r, hints), "hints", hints,
                     "hints_ignored", io_ignored_hints(asked, sources, hints), "caches",
                     r->run->what.read && !(io_moves_nothing(&r->run->what)) ? json_string(caches_word(r))
                                                                             : json_null(),
                     "resident_fraction", json_real(fraction));
}

static json_t *payload_json(const io_report *r) {
    const io_run *run = r->run;
    io_schema schema;
    json_t *datasets = json_array();
    run->what.pattern->schema(run->what.state, 0, &schema);
    for (int i = 0; i < schema.ndatasets; i++) {
        const io_dataset *d = &schema.datasets[i];
        json_t *shape = json_array();
        for (int j = 0; j < d->ndims; j++)
            json_array_append_new(shape, json_integer((json_int_t)schema.dims[d->dim[j]].length));
        bool placed = r->found->offsets && r->found->offsets[i] != UINT64_MAX;
        json_array_append_new(
            datasets, json_pack("{s:s,s:s,s:o,s:I,s:o,s:o*}", "name", d->name, "type", io_type_name(d->type),
                                "shape", shape, "bytes", (json_int_t)io_dataset_bytes(&schema, i), "offset",
                                placed ? json_integer((json_int_t)r->found->offsets[i]) : json_null(),
                                "small", d->small ? json_true() : NULL));
    }
    bool packs = run->what.method->modes && io_mode_has(run->what.mode, IO_COMPRESSES);
    return json_pack("{s:I,s:o,s:I,s:o}", "bytes", (json_int_t)r->bytes, "stored",
                     packs ? json_integer((json_int_t)r->summary.packed) : json_null(), "calls",
                     (json_int_t)run->what.pattern->transfers(run->what.state), "datasets", datasets);
}

static json_t *summary_json(const io_report *r) {
    json_t *summary = json_object();
    io_summarise_figures(r, summary);
    io_summarise_servers(r, summary);
    return summary;
}

json_t *io_result(const io_report *r, const char *error, bool hung) {
    const char *status = hung ? "hung" : error ? "error" : r->summary.wrong ? "failed" : "ok";
    json_t *sources = json_object(), *hints = io_asked_hints(&r->run->what.hints, environ, sources);
    json_t *verification =
        json_pack("{s:s,s:I,s:I,s:I,s:O?}", "verdict", io_verdict(r), "bytes", (json_int_t)r->summary.bytes,
                  "elements", (json_int_t)r->summary.elements, "mismatches", (json_int_t)r->summary.wrong,
                  "first", r->summary.first);
    json_t *document = json_pack(
        "{s:s,s:s,s:s?,s:{s:s,s:s,s:s,s:s},s:o,s:o,s:o,s:o,s:o,s:O,s:I,s:I,s:o,s:o,s:o,s:{s:I,s:I,s:I,s:I,s:"
        "I}}",
        "schema", "iogauge.result/1", "status", status, "error", error, "program", "name", "iokernel",
        "version", IOKERNEL_VERSION, "build", IOKERNEL_BUILD, "compiler", __VERSION__, "libraries",
        io_libraries(), "asked", asked_json(r, hints, sources), "system", system_json(r), "used",
        used_json(r, hints, sources), "payload", payload_json(r), "files", r->summary.files, "file_count",
        (json_int_t)r->summary.file_count, "file_bytes", (json_int_t)r->summary.file_bytes, "samples",
        io_samples_json(r), "summary", summary_json(r), "verification", verification, "memory", "peak_rss",
        (json_int_t)r->peak_rss.max, "peak_rss_mean", (json_int_t)r->peak_rss.mean, "peak_rss_min",
        (json_int_t)r->peak_rss.min, "data", (json_int_t)r->largest_share, "buffer", (json_int_t)r->buffer);
    json_decref(hints);
    json_decref(sources);
    return document;
}
