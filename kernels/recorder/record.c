/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts each access like the Darshan runtime, so that the counters agree. */
#include <string.h>

#include "state.h"

/* The counters that both modules have, by module; -1: missing. */
static const struct {
    int bytes[DIRECTIONS], largest_time_size[DIRECTIONS], histogram[DIRECTIONS], switches;
    int sizes, stride, calls[DIRECTIONS], largest_byte[DIRECTIONS], consecutive[DIRECTIONS],
        sequential[DIRECTIONS];
} at[MODULES] = {
    [MODULE_POSIX] = {{POSIX_BYTES_READ, POSIX_BYTES_WRITTEN},
                      {POSIX_MAX_READ_TIME_SIZE, POSIX_MAX_WRITE_TIME_SIZE},
                      {POSIX_SIZE_READ, POSIX_SIZE_WRITE},
                      POSIX_RW_SWITCHES, POSIX_ACCESS,
                      POSIX_STRIDE, {POSIX_READS, POSIX_WRITES},
                      {POSIX_MAX_BYTE_READ, POSIX_MAX_BYTE_WRITTEN},
                      {POSIX_CONSEC_READS, POSIX_CONSEC_WRITES},
                      {POSIX_SEQ_READS, POSIX_SEQ_WRITES}},
    [MODULE_MPIIO] = {{MPIIO_BYTES_READ, MPIIO_BYTES_WRITTEN},
                      {MPIIO_MAX_READ_TIME_SIZE, MPIIO_MAX_WRITE_TIME_SIZE},
                      {MPIIO_SIZE_READ, MPIIO_SIZE_WRITE},
                      MPIIO_RW_SWITCHES, MPIIO_ACCESS,
                      -1,
                      {-1, -1},
                      {-1, -1},
                      {-1, -1},
                      {-1, -1}                           },
};

/* Inclusive upper bounds of the histogram's buckets; the last has none. */
static const int64_t bucket_end[BUCKETS - 1] = {100,     1024,     10240,     102400,    1048576,
                                                4194304, 10485760, 104857600, 1073741824};

void record_clear(record *r) {
    int64_t memory = r->counter[POSIX_MEM_ALIGNMENT], file = r->counter[POSIX_FILE_ALIGNMENT];
    memset(r->counter, 0, sizeof r->counter);
    memset(r->time, 0, sizeof r->time);
    memset(r->called, 0, sizeof r->called);
    memset(r->last_end, 0, sizeof r->last_end);
    r->last_meta_end = 0;
    r->sizes.used = r->strides.used = 0;
    r->last_io = NO_IO;
    r->locked = false;
    for (int d = 0; d < DIRECTIONS; d++) r->trace[d].used = 0;
    if (r->module != MODULE_POSIX) return;
    r->counter[POSIX_MEM_ALIGNMENT] = memory;
    r->counter[POSIX_FILE_ALIGNMENT] = file;
}

/* Overlapping calls of two threads are counted once. */
void record_time(double *total, double *last, double start, double end) {
    *total += end - (start > *last ? start : *last);
    if (end > *last) *last = end;
}

static void first_and_last(record *r, int first, int last, double start, double end) {
    if (r->time[first] == 0 || r->time[first] > start) r->time[first] = start;
    r->time[last] = end;
}

void record_open(record *r, double start, double end) {
    first_and_last(r, F_OPEN_START, F_OPEN_END, start, end);
    record_time(&r->time[F_META_TIME], &r->last_meta_end, start, end);
}

void record_close(record *r, double start, double end) {
    first_and_last(r, F_CLOSE_START, F_CLOSE_END, start, end);
    record_time(&r->time[F_META_TIME], &r->last_meta_end, start, end);
}

/* Keeps the most frequent values, most frequent first, larger ones first if equal. Zero is no value. */
static void name_common(int64_t *value, int64_t *count, int64_t new, int64_t times) {
    if (!new) return;
    int i = 0;
    while (i < COMMON - 1 && value[i] != new) i++;
    bool better = times > count[i] || (times == count[i] && new > value[i]);
    if (value[i] != new && !better) return;
    for (; i && (count[i - 1] < times || (count[i - 1] == times && value[i - 1] < new)); i--) {
        value[i] = value[i - 1];
        count[i] = count[i - 1];
    }
    value[i] = new;
    count[i] = times;
}

static void count_common(common_values *all, int64_t value, int64_t *named) {
    int i = 0;
    while (i < all->used && all->value[i] != value) i++;
    if (i == all->used) {
        if (i == COMMON_KEPT) return;
        all->used++;
        all->value[i] = value;
        all->count[i] = 0;
    }
    name_common(named, named + COMMON, value, ++all->count[i]);
}

static void halve(heatmap *heat) {
    for (int d = 0; d < DIRECTIONS; d++) {
        int64_t *bin = heat->bytes[d];
        for (int i = 0; i < BINS / 2; i++) bin[i] = bin[2 * i] + bin[2 * i + 1];
        memset(bin + BINS / 2, 0, BINS / 2 * sizeof *bin);
    }
    heat->bin_seconds *= 2;
}

/* Distributes bytes to the bins in proportion to the time spent in each. */
static void warm(heatmap *heat, const access_info *a) {
    if (!a->size) return;
    while (a->end >= heat->bin_seconds * BINS) halve(heat);
    double width = heat->bin_seconds;
    int first = (int)(a->start / width), last = (int)(a->end / width);
    int64_t left = a->size;
    for (int i = first; i < last; i++) {
        double from = i == first ? a->start : i * width;
        int64_t share = (int64_t)((double)a->size * ((i + 1) * width - from) / (a->end - a->start));
        if (share > left) share = left;
        heat->bytes[a->direction][i] += share;
        left -= share;
    }
    heat->bytes[a->direction][last] += left;
}

static void keep_segment(recorder *the, segments *list, const access_info *a) {
    if (list->used == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        bool more = the->segments < the->most_segments;
        segment *larger = more ? memory_larger(&the->memory, list->entry, list->room * sizeof *larger,
                                               room * sizeof *larger)
                               : NULL;
        if (larger) list->entry = larger;
        segment_mark *marks =
            larger ? memory_larger(&the->memory, list->mark, list->room * sizeof *marks, room * sizeof *marks)
                   : NULL;
        if (!marks) {
            the->partial = true;
            return;
        }
        list->mark = marks;
        list->room = room;
    }
    list->mark[list->used] = (segment_mark){a->at, the->sequence++, a->call};
    list->entry[list->used++] = (segment){a->offset, a->size, a->start, a->end};
    the->segments++;
}

/* Only the POSIX module considers where in the file an access is. */
static void count_place(record *r, const access_info *a) {
    int d = a->direction;
    int64_t last = r->last_byte[d], end = a->offset + a->size - 1;
    if (a->offset > last) r->counter[at[r->module].sequential[d]]++;
    if (a->offset == last + 1) r->counter[at[r->module].consecutive[d]]++;
    int64_t stride = a->offset > last && last ? a->offset - last - 1 : 0;
    count_common(&r->strides, stride, &r->counter[at[r->module].stride]);
    r->last_byte[d] = end;
    int64_t *largest = &r->counter[at[r->module].largest_byte[d]];
    if (*largest < end) *largest = end;
    int64_t alignment = r->counter[POSIX_FILE_ALIGNMENT];
    if (alignment > 0 && a->offset % alignment) r->counter[POSIX_FILE_NOT_ALIGNED]++;
    r->counter[at[r->module].calls[d]]++;
}

void record_access(recorder *the, record *r, const access_info *a, int counter) {
    int d = a->direction, bucket = 0;
    while (bucket < BUCKETS - 1 && a->size > bucket_end[bucket]) bucket++;
    r->counter[at[r->module].histogram[d] + bucket]++;
    r->counter[at[r->module].bytes[d]] += a->size;
    if (counter >= 0) r->counter[counter]++;
    count_common(&r->sizes, a->size, &r->counter[at[r->module].sizes]);
    if (r->module == MODULE_POSIX) count_place(r, a);
    if (r->last_io == !d) r->counter[at[r->module].switches]++;
    r->last_io = d;
    first_and_last(r, F_READ_START + d, F_READ_END + d, a->start, a->end);
    if (r->time[F_MAX_READ_TIME + d] < a->end - a->start) {
        r->time[F_MAX_READ_TIME + d] = a->end - a->start;
        r->counter[at[r->module].largest_time_size[d]] = a->size;
    }
    record_time(&r->time[F_READ_TIME + d], &r->last_end[d], a->start, a->end);
    if (r->kind == STORAGE_OWN) recorder_duration(the, r->module, d, a->end - a->start);
    warm(&the->heat[r->module], a);
    if (the->most_segments) keep_segment(the, &r->trace[d], a);
}
