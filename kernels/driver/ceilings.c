/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ceilings of a file system: the bandwidth of large aligned POSIX transfers of the same bytes per
 * process in the same job, with a file per process (the practical peak), and in one shared file with a
 * contiguous range per process. Ceilings are a pattern that runs through the same driver, so that they are
 * timed exactly like the run itself. */
#include "driver/ceilings.h"

#include <stdio.h>

#include "base/beside.h"
#include "driver/driver.h"

extern const io_method io_method_posix, io_method_posix_shared;

#define TRANSFER ((uint64_t)8 << 20)

typedef struct {
    uint64_t bytes, processes; /* bytes per process */
    bool per_process;
    io_dim dim;
    io_dataset data;
} range;

static void schema(const void *state, uint64_t step, io_schema *out) {
    const range *s = state;
    (void)step;
    *out = (io_schema){.ndims = 1, .dims = &s->dim, .ndatasets = 1, .datasets = &s->data};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)step;
    snprintf(name, size, IO_CEILING_FILE "%s%s", ((const range *)state)->per_process ? "-fpp" : "-shared",
             extension);
}

static uint64_t transfers(const void *state) {
    return (((const range *)state)->bytes + TRANSFER - 1) / TRANSFER;
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const range *s = state;
    uint64_t offset = transfer * TRANSFER, left = s->bytes - offset;
    *out = (io_part){
        .offset = offset, .start = {owner * s->bytes + offset}, .count = {left < TRANSFER ? left : TRANSFER}};
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

static int measure_one(const io_session *session, uint64_t share, const io_method *method,
                       io_sample *sample) {
    bool per_process = method->traits & IO_FILE_PER_PROCESS;
    uint64_t n = (uint64_t)session->world->size;
    range state = {
        .bytes = share, .processes = n, .per_process = per_process, .dim = {"bytes", share * n}
    };
    state.data = (io_dataset){.name = "data", .type = IO_BYTE, .ndims = 1, .block = {TRANSFER}};
    io_case what = *session->what;
    what.pattern = &contiguous;
    what.state = &state;
    what.method = method;
    what.steps = 1;
    what.io_group = 0;
    what.compute_seconds = 0;
    what.common.keep = false;
    what.write = true; /* reading needs a file */
    io_session s = *session;
    s.what = &what;
    s.found = NULL;
    s.created = 0;
    return io_measure(&s, sample);
}

uint64_t io_ceiling_buffer(const io_case *what, uint64_t share) {
    return what->reuse && share > TRANSFER ? TRANSFER : share;
}

int io_measure_ceilings(const io_session *session, uint64_t share, io_ceilings *ceilings) {
    if (measure_one(session, share, &io_method_posix, &ceilings->fpp)) return -1;
    return measure_one(session, share, &io_method_posix_shared, &ceilings->shared);
}
