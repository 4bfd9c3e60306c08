/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/table.h"

#include <inttypes.h>
#include <stdio.h>

#include "driver/series.h"
#include "driver/times.h"
#include "report/server_figures.h"

static void spread(const io_report *r, const char *label, double (*figure)(const io_report *, uint64_t)) {
    double median = io_median(r, figure), low = median, high = median;
    if (median < 0) return;
    for (uint64_t i = 0; i < r->done; i++) {
        double v = figure(r, i);
        if (v < low) low = v;
        if (v > high) high = v;
    }
    printf(" %-20s: %12.2f MiB/s", label, median);
    if (r->done > 1) printf("   (%.2f to %.2f over %" PRIu64 " repeats)", low, high, r->done);
    putchar('\n');
}

static void add(io_time *to, io_time time) {
    to->min += time.min;
    to->mean += time.mean;
    to->max += time.max;
}

static void line(const io_report *r, bool writing, const char *name, io_time sum) {
    double n = (double)r->done;
    printf(" %-6s%-14s: %10.6f %10.6f %10.6f", writing ? "write" : "read", name, sum.min / n, sum.mean / n,
           sum.max / n);
}

static void phases(const io_report *r) {
    printf(" -----------------------------------------------\n");
    printf(" %-20s  %10s %10s %10s   seconds over processes, mean of repeats\n", "phase", "min", "mean",
           "max");
    for (int p = 0; p < IO_PHASES; p++) {
        bool writing = io_phases[p].direction == IO_WRITING;
        io_time sum = {0};
        if (!(writing ? r->run->what.write : r->run->what.read)) continue;
        if (!io_has_phase(r->run->what.method, p)) continue;
        for (uint64_t i = 0; i < r->done; i++) add(&sum, r->samples[i].phase[p]);
        line(r, writing, io_phases[p].name, sum);
        putchar('\n');
    }
}

static void stretches(const io_report *r) {
    const char *const *names = r->run->what.pattern->stretches;
    for (int d = 0; names && d < IO_DIRECTIONS; d++)
        for (int k = 0; names[k] && (d == IO_WRITING ? r->run->what.write : r->run->what.read); k++) {
            io_time sum = {0};
            double bytes = 0;
            for (uint64_t i = 0; i < r->done; i++) {
                add(&sum, r->samples[i].stretch[d][k]);
                bytes += (double)r->samples[i].stretch_bytes[d][k];
            }
            line(r, d == IO_WRITING, names[k], sum);
            if (sum.max > 0) printf(" %12.2f MiB/s", bytes / sum.max / 1048576);
            putchar('\n');
        }
}

/* The ceilings of small accesses and files, of one repeat. */
static void small(const io_ceilings *c) {
    double each = 1048576.0 / IO_SMALL;
    const double *rate = c->files.rate;
    if (!c->small.passes) return;
    printf(" %-20s: %12.0f written, %.0f read in a second\n", "4 KiB at random",
           each * c->small.bandwidth[IO_WRITING], each * c->small.bandwidth[IO_READING]);
    printf(" %-20s: %12.0f created, %.0f looked up, %.0f removed in a second\n", "small files",
           rate[IO_OP_CREATE], rate[IO_OP_STAT], rate[IO_OP_REMOVE]);
}

/* As in mdtest: files per second of all processes, of one process, and the time of the slowest one. */
static void series(const io_report *r) {
    printf(" -- %" PRIu64 " files of each process; files/s, mean of repeats\n",
           r->run->what.pattern->series(r->run->what.state) * r->run->what.steps);
    printf(" %-20s  %12s %12s %12s %12s %12s\n", "operation", "all", "process min", "mean", "max",
           "slowest, s");
    for (int op = 0; op < IO_OPERATIONS; op++) {
        io_operation_time sum = {0};
        for (uint64_t i = 0; i < r->done; i++) {
            const io_operation_time *t = &r->samples[i].operation[op];
            sum.all += t->all;
            sum.rate.min += t->rate.min;
            sum.rate.mean += t->rate.mean;
            sum.rate.max += t->rate.max;
            sum.seconds.max += t->seconds.max;
        }
        double n = (double)r->done;
        if (sum.all > 0)
            printf(" file %-15s: %12.0f %12.0f %12.0f %12.0f %12.6f\n", io_operation_names[op], sum.all / n,
                   sum.rate.min / n, sum.rate.mean / n, sum.rate.max / n, sum.seconds.max / n);
    }
}

static double fpp_write(const io_report *r, uint64_t i) { return r->ceilings[i].fpp.bandwidth[IO_WRITING]; }
static double fpp_read(const io_report *r, uint64_t i) { return r->ceilings[i].fpp.bandwidth[IO_READING]; }
static double shared_write(const io_report *r, uint64_t i) {
    return r->ceilings[i].shared.bandwidth[IO_WRITING];
}
static double shared_read(const io_report *r, uint64_t i) {
    return r->ceilings[i].shared.bandwidth[IO_READING];
}

void io_print_table(const io_report *r, void *unused) {
    (void)unused;
    const io_run *run = r->run;
    printf(" ++++ iokernel %s, method %s%s%s ++++\n", run->what.pattern->name, run->what.method->name,
           run->what.method->modes ? ", " : "", run->what.method->modes ? io_mode_name(run->what.mode) : "");
    printf(" %-20s: %d on %d node%s\n", "processes", r->world->job_size, r->world->job_nodes,
           r->world->job_nodes > 1 ? "s" : "");
    printf(" %-20s: %s (%s)\n", "directory", run->what.common.dir, r->filesystem.type);
    printf(" %-20s: %.2f MiB in %" PRIu64 " dump%s\n", "payload", (double)r->bytes / 1048576, run->what.steps,
           run->what.steps > 1 ? "s" : "");
    spread(r, "write bandwidth", io_figure_write);
    spread(r, "read bandwidth", io_figure_read);
    io_print_servers(r);
    if (r->ceilings) {
        printf(" -- ceilings: the same bytes in large POSIX transfers\n");
        spread(r, "file/process write", fpp_write);
        spread(r, "file/process read", fpp_read);
        spread(r, "shared file write", shared_write);
        spread(r, "shared file read", shared_read);
        if (r->done) small(&r->ceilings[0]);
    }
    if (run->what.pattern->series) series(r);
    if (run->phases) phases(r);
    if (run->phases) stretches(r);
    printf(" %-20s: %12.2f MiB   (%.2f to %.2f over processes; data %.2f)\n", "peak memory",
           (double)r->peak_rss.max / 1048576, (double)r->peak_rss.min / 1048576,
           (double)r->peak_rss.max / 1048576, (double)r->largest_share / 1048576);
    printf(" -----------------------------------------------\n");
    printf(" %-20s: %s", "verification", io_verdict(r));
    if (r->summary.bytes) printf(", %.2f MiB read back", (double)r->summary.bytes / 1048576);
    putchar('\n');
    fflush(stdout);
}
