/* The table on stdout, in the shape of S3D-IO's and IOR's summaries. */
#include <inttypes.h>
#include <stdio.h>

#include "result.h"

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

static void phases(const io_report *r) {
    printf(" -----------------------------------------------\n");
    printf(" %-20s  %10s %10s %10s   seconds over processes, mean of repeats\n", "phase", "min", "mean",
           "max");
    for (int p = 0; p < IO_PHASES; p++) {
        bool writing = io_phases[p].direction == IO_WRITING;
        io_time sum = {0};
        if (!(writing ? r->run->write : r->run->read)) continue;
        if (p == IO_DRAIN && !r->run->method->servers) continue;
        for (uint64_t i = 0; i < r->done; i++) {
            sum.min += r->samples[i].phase[p].min;
            sum.mean += r->samples[i].phase[p].mean;
            sum.max += r->samples[i].phase[p].max;
        }
        printf(" %-6s%-14s: %10.6f %10.6f %10.6f\n", writing ? "write" : "read", io_phases[p].name,
               sum.min / (double)r->done, sum.mean / (double)r->done, sum.max / (double)r->done);
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
    printf(" ++++ iokernel %s, method %s%s%s ++++\n", run->pattern->name, run->method->name,
           run->method->modes ? ", " : "", run->method->modes ? io_mode_name(run->mode) : "");
    printf(" %-20s: %d on %d node%s\n", "processes", r->world->job_size, r->world->job_nodes,
           r->world->job_nodes > 1 ? "s" : "");
    printf(" %-20s: %s (%s)\n", "directory", run->dir, r->filesystem.type);
    printf(" %-20s: %.2f MiB in %" PRIu64 " dump%s\n", "payload", (double)r->bytes / 1048576, run->steps,
           run->steps > 1 ? "s" : "");
    spread(r, "write bandwidth", io_figure_write);
    spread(r, "read bandwidth", io_figure_read);
    io_print_servers(r);
    if (r->ceilings) {
        printf(" -- ceilings: the same bytes in large POSIX transfers\n");
        spread(r, "file/process write", fpp_write);
        spread(r, "file/process read", fpp_read);
        spread(r, "shared file write", shared_write);
        spread(r, "shared file read", shared_read);
    }
    if (run->phases) phases(r);
    printf(" -----------------------------------------------\n");
    printf(" %-20s: %s", "verification", io_verdict(r));
    if (r->summary.bytes) printf(", %.2f MiB read back", (double)r->summary.bytes / 1048576);
    putchar('\n');
    fflush(stdout);
}
