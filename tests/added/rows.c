/* SPDX-License-Identifier: BSD-3-Clause */
/* rows: a row of numbers of each process. */
#include <stdio.h>

#include "pattern.h"

extern const io_pattern io_pattern_rows;

typedef struct {
    uint64_t length;
    io_dim dims[2];
    io_dataset data;
} rows;

static const io_option options[] = {
    {"length", 256, "N", "of a row (default 1000)"},
    {0}
};

static void defaults(void *state) { ((rows *)state)->length = 1000; }

static int option(void *state, int letter, const char *value, io_error *error) {
    (void)letter;
    return io_parse_count("--length", value, &((rows *)state)->length, error);
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    rows *s = state;
    (void)error;
    s->dims[0] = (io_dim){"processes", setup->processes};
    s->dims[1] = (io_dim){"length", s->length};
    s->data = (io_dataset){
        .name = "rows", .type = IO_FLOAT64, .ndims = 2, .dim = {0, 1        },
                   .block = {1, s->length}
    };
    return 0;
}

static json_t *describe(const void *state) {
    return json_pack("{s:I}", "length", (json_int_t)((const rows *)state)->length);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const rows *s = state;
    (void)step;
    *out = (io_schema){.ndims = 2, .dims = s->dims, .ndatasets = 1, .datasets = &s->data};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "rows%d%s", (int)step, extension);
}

static uint64_t transfers(const void *state) {
    (void)state;
    return 1;
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    (void)transfer;
    *out = (io_part){
        .start = {owner},
          .count = {1, ((const rows *)state)->length}
    };
    return 1;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return 8 * ((const rows *)state)->length;
}

const io_pattern io_pattern_rows = {
    .name = "rows",
    .summary = "a row of each process",
    .options = options,
    .state_size = sizeof(rows),
    .max_parts = 1,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
};
