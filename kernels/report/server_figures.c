/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing between dumps and methods with servers: numbers per repeat, and medians. */
#include "report/server_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "method_roles.h"

static bool served(const io_report *r) { return r->run->what.write && r->run->what.method->servers; }

/* Seconds until the application can continue after its last dump, without drain and move. */
static double until_closed(const io_report *r, uint64_t i) {
    const io_sample *s = &r->samples[i];
    return s->seconds[IO_WRITING] - s->phase[IO_PHASE_DRAIN].max - s->phase[IO_PHASE_MOVE].max;
}

static double apparent_bw(const io_report *r, uint64_t i) {
    return served(r) ? (double)r->bytes / until_closed(r, i) / 1048576 : NAN;
}
static double direct_bw(const io_report *r, uint64_t i) {
    return r->direct ? r->direct[i].bandwidth[IO_WRITING] : NAN;
}
static double apparent_speedup(const io_report *r, uint64_t i) { return apparent_bw(r, i) / direct_bw(r, i); }
static double overlap(const io_report *r, uint64_t i) {
    return r->direct ? 1 - r->samples[i].seconds[IO_WRITING] / r->direct[i].seconds[IO_WRITING] : NAN;
}
static double durable_bw(const io_report *r, uint64_t i) {
    double busy = r->samples[i].queue.busy;
    bool durable = served(r) && r->run->what.common.fsync && !(io_moves_nothing(&r->run->what));
    return durable && busy > 0 ? (double)r->bytes / busy / 1048576 : NAN;
}
static double blocked_time(const io_report *r, uint64_t i) {
    return served(r) ? r->samples[i].queue.blocked : NAN;
}
static double drain_time(const io_report *r, uint64_t i) {
    return served(r) ? r->samples[i].phase[IO_PHASE_DRAIN].max : NAN;
}
static double queue_peak(const io_report *r, uint64_t i) {
    return served(r) ? (double)r->samples[i].queue.peak : NAN;
}
static double io_fraction(const io_report *r, uint64_t i) {
    double seconds = r->samples[i].seconds[IO_WRITING];
    return r->run->what.write && r->run->what.compute_seconds > 0
               ? seconds / (seconds + r->samples[i].between)
               : NAN;
}

static const struct {
    const char *name, *label, *unit;
    double (*figure)(const io_report *, uint64_t);
} figures[] = {
    {"apparent_bw",      "apparent bandwidth", "MiB/s",               apparent_bw     },
    {"direct_bw",        "written directly",   "MiB/s",               direct_bw       },
    {"apparent_speedup", "apparent / direct",  "",                    apparent_speedup},
    {"overlap",          "overlap",            "of direct writing",   overlap         },
    {"durable_bw",       "durable bandwidth",  "MiB/s",               durable_bw      },
    {"blocked_time",     "clients blocked",    "s",                   blocked_time    },
    {"drain_time",       "drain",              "s",                   drain_time      },
    {"queue_peak",       "highest queue fill", "bytes",               queue_peak      },
    {"io_fraction",      "time in I/O",        "of the writing part", io_fraction     },
};
enum { FIGURES = sizeof figures / sizeof *figures };

void io_summarise_servers(const io_report *r, json_t *summary) {
    for (int i = 0; i < FIGURES; i++) {
        double m = r->done ? io_median(r, figures[i].figure) : NAN;
        if (isfinite(m)) json_object_set_new(summary, figures[i].name, json_real(m));
    }
}

void io_print_servers(const io_report *r) {
    if (served(r))
        printf(" %-20s: %" PRIu64 " of the processes, with queues of %.1f MiB\n", "I/O processes",
               io_servers(&r->run->what), (double)r->samples[0].queue.limit / 1048576);
    for (int i = 0; i < FIGURES; i++) {
        double m = io_median(r, figures[i].figure);
        if (isfinite(m)) printf(" %-20s: %12.2f %s\n", figures[i].label, m, figures[i].unit);
    }
}

json_t *io_between_json(const io_report *r, uint64_t i) {
    bool asked = r->run->what.write && (r->run->what.compute_seconds > 0 || r->run->what.method->servers);
    return asked ? json_real(r->samples[i].between) : NULL;
}

json_t *io_queue_json(const io_report *r, uint64_t i) {
    const io_queue_use *q = &r->samples[i].queue;
    if (!served(r)) return NULL;
    return json_pack("{s:f,s:f,s:I,s:I,s:I}", "busy", q->busy, "blocked", q->blocked, "peak",
                     (json_int_t)q->peak, "limit", (json_int_t)q->limit, "peak_rss", (json_int_t)q->rss);
}
