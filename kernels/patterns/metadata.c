/* SPDX-License-Identifier: BSD-3-Clause */
/* metadata: a series of small files that each process creates, lists, stats, reads and removes, as timed by
 * IDRIS on Babel in 2011 and by mdtest. A file holds three numbers: owner, step, and index in the series, so
 * that another process that reads it detects files that were lost or mixed up. */
#include <inttypes.h>
#include <stdio.h>

#include "pattern.h"

extern const io_pattern io_pattern_metadata;

#define VALUES 3 /* owner, step, index */
#define BYTES (VALUES * sizeof(int64_t))

typedef struct {
    uint64_t files;
    bool unique, empty;
    io_dim dim;
    io_dataset data;
} metadata;

enum { FILES = 256, UNIQUE_DIR, CREATE_EMPTY };

static const io_option options[] = {
    {"files", FILES, "N", "files per process (default 100)"},
    {"unique-dir", UNIQUE_DIR, NULL, "a directory per process (default: all files in --dir)"},
    {"create-empty", CREATE_EMPTY, NULL, "create files without bytes, write them later (default: at once)"},
    {0},
};

static void defaults(void *state) { ((metadata *)state)->files = 100; }

static int option(void *state, int letter, const char *value, io_error *error) {
    metadata *s = state;
    if (letter == FILES) return io_parse_count("--files", value, &s->files, error);
    *(letter == UNIQUE_DIR ? &s->unique : &s->empty) = true;
    return 0;
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    metadata *s = state;
    uint64_t all;
    if (__builtin_mul_overflow(s->files, BYTES, &all) ||
        __builtin_mul_overflow(all, setup->processes, &all) || all > INT64_MAX)
        return io_fail_usage(error, "--files %" PRIu64 ": more than 2^63 bytes in total; use fewer files",
                             s->files);
    s->dim = (io_dim){"owner_step_number", VALUES};
    s->data = (io_dataset){.name = "identity",
                           .type = IO_INT64,
                           .role = IO_PARAMETER,
                           .ndims = 1,
                           .block = {VALUES},
                           .facts = true};
    return 0;
}

static json_t *describe(const void *state) {
    const metadata *s = state;
    return json_pack("{s:I,s:b,s:b}", "files", (json_int_t)s->files, "unique_dir", s->unique, "create_empty",
                     s->empty);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const metadata *s = state;
    (void)step;
    *out = (io_schema){
        .ndims = 1, .dims = &s->dim, .ndatasets = 1, .datasets = &s->data, .file_per_process = true};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "metadata_%05" PRIu64 "%s", step + 1, extension);
}

static void own_name(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size) {
    const char *between = ((const metadata *)state)->unique ? "/" : ".";
    snprintf(name, size, "metadata_%05" PRIu64 ".%08" PRIu64 "%s%08" PRIu64, step + 1, owner, between,
             number);
}

static uint64_t series(const void *state) { return ((const metadata *)state)->files; }
static bool creates_empty(const void *state) { return ((const metadata *)state)->empty; }

/* One transfer per file. */
static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    (void)state, (void)owner;
    *out = (io_part){.count = {VALUES}, .index0 = transfer * VALUES};
    return 1;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return series(state) * BYTES;
}

/* Counted from 1: a lost write reads as zeros and would not be detected. */
static void facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    int64_t *values = out;
    (void)state;
    values[0] = (int64_t)owner + 1;
    values[1] = (int64_t)step + 1;
    values[2] = (int64_t)(part->index0 / VALUES) + 1;
}

const io_pattern io_pattern_metadata = {
    .name = "metadata",
    .summary = "small files of each process: create, list, stat, read, remove",
    .options = options,
    .state_size = sizeof(metadata),
    .max_parts = 1,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = series,
    .parts = parts,
    .bytes = bytes,
    .series = series,
    .creates_empty = creates_empty,
    .facts = facts,
    .own_name = own_name,
};
