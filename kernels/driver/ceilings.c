/* SPDX-License-Identifier: BSD-3-Clause */
/* The ceilings of a file system: the bandwidth of large aligned POSIX transfers of the same bytes per process
 * and step in the same job, with a file per process (the practical peak), and in one shared file with a
 * contiguous range per process. On request also what small accesses reach, at random places of a file per
 * process, and how many files are created, looked up and removed. Ceilings are patterns that run through the
 * same driver, so that they are timed exactly like the run itself. What takes too little time is repeated
 * with new files: overwriting is a different measurement. */
#include "driver/ceilings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/beside.h"
#include "base/clock.h"
#include "driver/driver.h"

extern const io_method io_method_posix, io_method_posix_shared;

#define TRANSFER ((uint64_t)8 << 20)
#define SMALL_SHARE ((uint64_t)4 << 20) /* at most, of a process */
#define FILES 100                       /* of a process */
#define SMALL_SECONDS 0.1               /* enough for thousands of them */
#define SCATTER 2654435761u             /* a prime: k times it, modulo n, is each of n places once */

typedef struct {
    const char *name;
    uint64_t bytes, transfer; /* bytes per process and step */
    uint64_t steps;
    io_dim dim;
    io_dataset data;
} range;

static void schema(const void *state, uint64_t step, io_schema *out) {
    const range *s = state;
    (void)step;
    *out = (io_schema){.ndims = 1, .dims = &s->dim, .ndatasets = 1, .datasets = &s->data};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    snprintf(name, size, IO_CEILING_FILE "-%s.%" PRIu64 "%s", ((const range *)state)->name, step, extension);
}

static uint64_t transfers(const void *state) {
    const range *s = state;
    return (s->bytes + s->transfer - 1) / s->transfer;
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const range *s = state;
    uint64_t which = s->transfer == IO_SMALL ? transfer * SCATTER % transfers(s) : transfer;
    uint64_t offset = which * s->transfer, left = s->bytes - offset;
    *out = (io_part){.offset = offset,
                     .start = {owner * s->bytes + offset},
                     .count = {left < s->transfer ? left : s->transfer}};
    return 1;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return ((const range *)state)->bytes;
}

static const io_pattern contiguous = {
    .name = "contiguous",
    .max_parts = 1,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
};

/* ---------------------------------------------------------------- small files, of one byte */

static void files_schema(const void *state, uint64_t step, io_schema *out) {
    schema(state, step, out);
    out->file_per_process = true;
}

static uint64_t series(const void *state) {
    (void)state;
    return FILES;
}

static bool creates_empty(const void *state) {
    (void)state;
    return true;
}

static int file_parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    (void)state, (void)owner, (void)transfer;
    *out = (io_part){.count = {1}};
    return 1;
}

static void own_name(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size) {
    (void)state, (void)step;
    snprintf(name, size, IO_CEILING_FILE "-files.%08" PRIu64 ".%08" PRIu64, owner, number);
}

static const io_pattern small_files = {
    .name = "files",
    .max_parts = 1,
    .schema = files_schema,
    .file_name = file_name,
    .transfers = series,
    .parts = file_parts,
    .bytes = bytes,
    .series = series,
    .creates_empty = creates_empty,
    .own_name = own_name,
};

/* ---------------------------------------------------------------- measuring */

static int measure_one(const io_session *session, const io_pattern *pattern, range *state,
                       const io_method *method, io_sample *sample) {
    state->data = (io_dataset){.name = "data", .type = IO_BYTE, .ndims = 1, .block = {state->transfer}};
    io_case what = *session->what;
    what.pattern = pattern;
    what.state = state;
    what.method = method;
    what.steps = state->steps;
    what.io_group = 0;
    what.compute_seconds = 0;
    what.common.keep = false;
    what.write = true; /* reading needs a file */
    if (pattern->series) what.common.fsync = false;
    io_session s = *session;
    s.what = &what;
    s.found = NULL;
    s.latency = NULL;
    return io_measure(&s, sample);
}

/* Until it took so many seconds by the clock of process 0. */
static int measure(const io_session *session, double least, const io_pattern *pattern, range state,
                   const io_method *method, io_ceiling *to) {
    uint64_t n = (uint64_t)session->world->size;
    state.dim = (io_dim){"bytes", state.bytes * n};
    double began = io_monotonic_seconds(), taken = 0, operation[IO_OPERATIONS] = {0};
    for (*to = (io_ceiling){0}; !to->passes || taken < least; to->passes += state.steps) {
        io_sample one;
        if (measure_one(session, pattern, &state, method, &one)) return -1;
        for (int d = 0; d < IO_DIRECTIONS; d++) to->seconds[d] += one.seconds[d];
        for (int i = 0; i < IO_OPERATIONS; i++) operation[i] += one.operation[i].seconds.max;
        taken = io_monotonic_seconds() - began;
        IO_MPI(session->world, MPI_Bcast, &taken, 1, MPI_DOUBLE, 0, session->world->comm);
    }
    double all = (double)(to->passes * n);
    for (int d = 0; d < IO_DIRECTIONS; d++)
        if (to->seconds[d] > 0) to->bandwidth[d] = all * (double)state.bytes / to->seconds[d] / 1048576;
    for (int i = 0; i < IO_OPERATIONS; i++)
        if (operation[i] > 0) to->rate[i] = all * FILES / operation[i];
    return 0;
}

uint64_t io_ceiling_buffer(const io_case *what, uint64_t share) {
    return what->reuse && share > TRANSFER ? TRANSFER : share;
}

int io_measure_ceilings(const io_session *session, uint64_t share, const io_ceiling_choice *choice,
                        io_ceilings *to) {
    range large = {.name = "fpp", .bytes = share, .transfer = TRANSFER, .steps = session->what->steps};
    uint64_t some = share < SMALL_SHARE ? share : SMALL_SHARE;
    range small = {.name = "small", .bytes = some - some % IO_SMALL, .transfer = IO_SMALL, .steps = 1};
    if (measure(session, choice->seconds, &contiguous, large, &io_method_posix, &to->fpp)) return -1;
    large.name = "shared";
    if (measure(session, choice->seconds, &contiguous, large, &io_method_posix_shared, &to->shared))
        return -1;
    double least = choice->seconds < SMALL_SECONDS ? choice->seconds : SMALL_SECONDS;
    if (!choice->small || !small.bytes) return 0;
    if (measure(session, least, &contiguous, small, &io_method_posix, &to->small)) return -1;
    small.bytes = FILES;
    return measure(session, least, &small_files, small, &io_method_posix, &to->files);
}
