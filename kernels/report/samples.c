/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/samples.h"

#include "driver/series.h"
#include "driver/times.h"
#include "report/server_figures.h"

static json_t *time_json(io_time time) {
    return json_pack("{s:f,s:f,s:f}", "min", time.min, "mean", time.mean, "max", time.max);
}

static json_t *phase_json(const io_sample *s, int phase) {
    json_t *one = time_json(s->phase[phase]);
    json_object_set_new(one, "elapsed", json_real(s->elapsed[phase]));
    return one;
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

static json_t *direction_json(const io_sample *s, const io_method *method, int direction, bool ran,
                              const char *const *names) {
    if (!ran) return json_null();
    json_t *phases = json_object();
    for (int p = 0; p < IO_PHASES; p++)
        if (io_phases[p].direction == direction && io_has_phase(method, p))
            json_object_set_new(phases, io_phases[p].name, phase_json(s, p));
    json_t *all =
        json_pack("{s:f,s:f,s:I,s:o}", "seconds", s->seconds[direction], "bandwidth", s->bandwidth[direction],
                  "library_calls", (json_int_t)s->calls[direction], "phases", phases);
    if (s->in_calls[direction] > 0) json_object_set_new(all, "in_calls", json_real(s->in_calls[direction]));
    if (names) json_object_set_new(all, "stretches", stretches_json(s, direction, names));
    return all;
}

/* For a series; null for an operation that did not run. */
static json_t *series_json(const io_report *r, const io_sample *s) {
    const io_pattern *p = r->run->what.pattern;
    if (!p->series) return json_null();
    json_t *all = json_pack("{s:I}", "files_per_process",
                            (json_int_t)(p->series(r->run->what.state) * r->run->what.steps));
    for (int i = 0; i < IO_OPERATIONS; i++) {
        const io_operation_time *t = &s->operation[i];
        json_object_set_new(all, io_operation_names[i],
                            t->all > 0 ? json_pack("{s:o,s:f,s:o}", "seconds", time_json(t->seconds), "rate",
                                                   t->all, "rate_per_process", time_json(t->rate))
                                       : json_null());
    }
    return all;
}

static json_t *ceiling_json(const io_ceiling *c) {
    return json_pack("{s:f,s:f,s:I}", "write", c->bandwidth[IO_WRITING], "read", c->bandwidth[IO_READING],
                     "passes", (json_int_t)c->passes);
}

/* Small accesses and files are in operations per second. */
static json_t *ceilings_json(const io_ceilings *c) {
    json_t *all = json_pack("{s:o,s:o}", "fpp", ceiling_json(&c->fpp), "shared", ceiling_json(&c->shared));
    double each = 1048576.0 / IO_SMALL;
    const double *rate = c->files.rate;
    if (c->small.passes)
        json_object_set_new(all, "small",
                            json_pack("{s:f,s:f}", "write", each * c->small.bandwidth[IO_WRITING], "read",
                                      each * c->small.bandwidth[IO_READING]));
    if (c->files.passes)
        json_object_set_new(all, "files",
                            json_pack("{s:f,s:f,s:f}", "create", rate[IO_OP_CREATE], "stat", rate[IO_OP_STAT],
                                      "remove", rate[IO_OP_REMOVE]));
    return all;
}

/* NULL if not measured. */
static json_t *latency_json(const io_call_times *t) {
    const io_slowest *slowest = &t->slowest;
    if (!t->calls) return NULL;
    return json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:{s:i,s:s,s:f,s:f,s:f}}", "calls", (json_int_t)t->calls,
                     "p50", t->p50, "p90", t->p90, "p99", t->p99, "p999", t->p999, "max", t->max, "slowest",
                     "process", slowest->process, "host", slowest->host, "seconds", slowest->seconds, "p50",
                     slowest->p50, "p99", slowest->p99);
}

static json_t *run_direction_json(const io_report *r, uint64_t repeat, int direction, bool ran) {
    json_t *all = direction_json(&r->samples[repeat], r->run->what.method, direction, ran,
                                 r->run->what.pattern->stretches);
    json_t *spans = ran ? json_array() : NULL;
    for (uint64_t i = 0; ran && i < r->found->nspans; i++) {
        const io_span *span = &r->found->spans[i];
        if (span->repeat == repeat && span->direction == direction)
            json_array_append_new(spans, json_pack("{s:s,s:f,s:f}", "phase", span->phase, "begin",
                                                   span->begin, "end", span->end));
    }
    if (ran) json_object_set_new(all, "spans", spans);
    json_t *latency = ran ? latency_json(&r->samples[repeat].latency[direction]) : NULL;
    if (latency) json_object_set_new(all, "latency", latency);
    return all;
}

/* Writing by the inner method alone; NULL if not measured. */
static json_t *direct_json(const io_report *r, uint64_t i) {
    if (!r->direct) return NULL;
    json_t *all = direction_json(&r->direct[i], io_method_backend(&r->run->what, NULL), IO_WRITING, true,
                                 r->run->what.pattern->stretches);
    json_object_set_new(all, "verified", json_integer((json_int_t)r->direct[i].verified));
    return all;
}

json_t *io_samples_json(const io_report *r) {
    json_t *samples = json_array();
    for (uint64_t i = 0; i < r->done; i++) {
        const io_sample *s = &r->samples[i];
        json_t *ceilings = r->ceilings ? ceilings_json(&r->ceilings[i]) : json_null();
        json_array_append_new(
            samples,
            json_pack("{s:I,s:f,s:o,s:o,s:o,s:o,s:o*,s:o*,s:o*}", "repeat", (json_int_t)i, "fill_seconds",
                      s->fill, "write", run_direction_json(r, i, IO_WRITING, r->run->what.write), "read",
                      run_direction_json(r, i, IO_READING, r->run->what.read), "series", series_json(r, s),
                      "ceilings", ceilings, "compute_seconds", io_between_json(r, i), "queue",
                      io_queue_json(r, i), "direct", direct_json(r, i)));
    }
    return samples;
}
