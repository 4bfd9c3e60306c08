/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/latency.h"

#include <stdlib.h>
#include <unistd.h>

/* Two significant digits from a nanosecond to an hour: 36 KiB. */
#define MOST 3600000000000
#define DIGITS 2
#define NANO 1e-9

io_latency *io_latency_new(io_error *error) {
    io_latency *l = calloc(1, sizeof *l);
    bool made = l;
    for (int d = 0; made && d < IO_DIRECTIONS; d++) made = !hdr_init(1, MOST, DIGITS, &l->calls[d]);
    if (made) {
        clock_start(&l->clock, clock_has_ticks());
        return l;
    }
    io_fail(error, "out of memory for the histograms of calls");
    io_latency_free(l);
    return NULL;
}

void io_latency_free(io_latency *l) {
    for (int d = 0; l && d < IO_DIRECTIONS; d++)
        if (l->calls[d]) hdr_close(l->calls[d]);
    free(l);
}

void io_latency_clear(io_latency *l) {
    clock_read(&l->clock);
    l->tick = l->clock.last.tick;
    l->waiting = 0;
    for (int d = 0; d < IO_DIRECTIONS; d++) {
        hdr_reset(l->calls[d]);
        l->seconds[d] = 0;
    }
}

void io_latency_add(io_latency *l, int direction, double seconds) {
    double ns = seconds * 1e9;
    l->seconds[direction] += seconds;
    hdr_record_value(l->calls[direction], ns < 0 ? 0 : ns < MOST ? (int64_t)ns : MOST);
}

void io_latency_count(io_latency *l) {
    for (int i = 0; i < l->waiting; i++)
        io_latency_add(l, l->direction[i], (double)(int64_t)l->lasted[i] * l->tick);
    l->waiting = 0;
}

/* In seconds. A histogram rounds up to the end of a bin: never above the slowest call. */
static double percentile(const struct hdr_histogram *h, double which) {
    int64_t ns = hdr_value_at_percentile(h, which);
    return (double)(ns < h->max_value ? ns : h->max_value) * NANO;
}

static void merge(const io_session *s, int direction, struct hdr_histogram *all) {
    const struct hdr_histogram *mine = s->latency->calls[direction];
    int64_t max = mine->max_value;
    IO_MPI(s->world, MPI_Allreduce, mine->counts, all->counts, mine->counts_len, MPI_INT64_T, MPI_SUM,
           s->world->comm);
    hdr_reset_internal_counters(all);
    IO_MPI(s->world, MPI_Allreduce, &max, &all->max_value, 1, MPI_INT64_T, MPI_MAX, s->world->comm);
}

/* The process that spent the most time in calls: the others waited for it. */
static io_slowest find_slowest(const io_session *s, int direction) {
    const io_latency *l = s->latency;
    struct {
        double seconds;
        int rank;
    } mine = {l->seconds[direction], s->world->rank}, most;
    IO_MPI(s->world, MPI_Allreduce, &mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, s->world->comm);
    io_slowest slowest = {.process = most.rank,
                          .seconds = most.seconds,
                          .p50 = percentile(l->calls[direction], 50),
                          .p99 = percentile(l->calls[direction], 99)};
    gethostname(slowest.host, sizeof slowest.host - 1);
    IO_MPI(s->world, MPI_Bcast, &slowest, sizeof slowest, MPI_BYTE, most.rank, s->world->comm);
    return slowest;
}

int io_latency_reduce(const io_session *s, io_sample *sample) {
    const bool ran[IO_DIRECTIONS] = {s->what->write, s->what->read};
    struct hdr_histogram *all = NULL;
    io_latency_count(s->latency);
    if (hdr_init(1, MOST, DIGITS, &all)) io_fail(&s->world->error, "out of memory for a histogram");
    if (io_agree(s->world)) return -1;
    for (int d = 0; d < IO_DIRECTIONS; d++) {
        if (!ran[d]) continue;
        merge(s, d, all);
        sample->latency[d] = (io_call_times){.calls = (uint64_t)all->total_count,
                                             .p50 = percentile(all, 50),
                                             .p90 = percentile(all, 90),
                                             .p99 = percentile(all, 99),
                                             .p999 = percentile(all, 99.9),
                                             .max = (double)all->max_value * NANO,
                                             .slowest = find_slowest(s, d)};
    }
    hdr_close(all);
    return 0;
}
