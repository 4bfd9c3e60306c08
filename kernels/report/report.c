/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report.h"

#include <stdlib.h>

/* The numbers of the summary for one repeat; negative: not measured. */
double io_figure_write(const io_report *r, uint64_t i) {
    return r->run->what.write ? r->samples[i].bandwidth[IO_WRITING] : -1;
}
double io_figure_read(const io_report *r, uint64_t i) {
    return r->run->what.read ? r->samples[i].bandwidth[IO_READING] : -1;
}
static double open_time(const io_report *r, uint64_t i) {
    return r->run->what.write ? r->samples[i].phase[IO_PHASE_CREATE].max : -1;
}
static double define_time(const io_report *r, uint64_t i) {
    return r->run->what.write && r->run->what.method->define ? r->samples[i].phase[IO_PHASE_DEFINE].max : -1;
}
static double close_time(const io_report *r, uint64_t i) {
    return r->run->what.write ? r->samples[i].phase[IO_PHASE_CLOSE].max : -1;
}
static double read_open_time(const io_report *r, uint64_t i) {
    return r->run->what.read ? r->samples[i].phase[IO_PHASE_OPEN].max : -1;
}
static const io_call_times *calls_of(const io_report *r, uint64_t i, int direction) {
    static const io_call_times none = {.p50 = -1, .p99 = -1, .max = -1};
    const io_call_times *calls = &r->samples[i].latency[direction];
    return calls->calls ? calls : &none;
}
static double write_p50(const io_report *r, uint64_t i) { return calls_of(r, i, IO_WRITING)->p50; }
static double write_p99(const io_report *r, uint64_t i) { return calls_of(r, i, IO_WRITING)->p99; }
static double write_max(const io_report *r, uint64_t i) { return calls_of(r, i, IO_WRITING)->max; }
static double read_p50(const io_report *r, uint64_t i) { return calls_of(r, i, IO_READING)->p50; }
static double read_p99(const io_report *r, uint64_t i) { return calls_of(r, i, IO_READING)->p99; }
static double read_max(const io_report *r, uint64_t i) { return calls_of(r, i, IO_READING)->max; }
static double rate_of(const io_report *r, uint64_t i, io_operation which) {
    double rate = r->samples[i].operation[which].all;
    return rate > 0 ? rate : -1;
}
static double create_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_CREATE); }
static double readdir_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_READDIR); }
static double stat_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_STAT); }
static double open_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_OPEN); }
static double remove_rate(const io_report *r, uint64_t i) { return rate_of(r, i, IO_OP_REMOVE); }
static double fraction(const io_report *r, uint64_t i, int direction, bool shared) {
    if (!r->ceilings || io_moves_nothing(&r->run->what)) return -1;
    const io_ceiling *ceiling = shared ? &r->ceilings[i].shared : &r->ceilings[i].fpp;
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
    {"write_p50",             write_p50      },
    {"write_p99",             write_p99      },
    {"write_max",             write_max      },
    {"read_p50",              read_p50       },
    {"read_p99",              read_p99       },
    {"read_max",              read_max       },
    {"create_rate",           create_rate    },
    {"readdir_rate",          readdir_rate   },
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

void io_summarise_figures(const io_report *r, json_t *summary) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double m = io_median(r, figures[i].figure);
        json_object_set_new(summary, figures[i].name, m < 0 ? json_null() : json_real(m));
    }
}

const char *io_verdict(const io_report *r) {
    if (r->summary.wrong) return "mismatch";
    if (io_moves_nothing(&r->run->what)) return "nothing moved";
    /* A replay reads back what it wrote, even if its log reads nothing. */
    bool reads = r->run->what.read || r->run->what.pattern->schedule;
    return reads && r->done == r->run->what.common.repeats && r->summary.elements ? "verified" : "not asked";
}
