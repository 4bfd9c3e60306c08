/* SPDX-License-Identifier: BSD-3-Clause */
/* Every pattern, for many process counts: the parts of all processes cover each element of each file exactly
 * once and are contiguous in memory, and the owners to read back are a permutation. */
#include <stdlib.h>
#include <string.h>

#include "patterns/registry.h"
#include "tests/unit.h"

#define MAX_PROCESSES 12
#define MAX_WORDS 8

/* Options that make a pattern small and uneven; others use their defaults. */
typedef struct {
    const char *pattern;
    const struct {
        int letter;
        const char *value;
    } words[MAX_WORDS];
} setting;
#define OWN_FILES 10000 /* in place of a letter: the method writes a file per process */
#define ONLY_FOR 10001  /* in place of a letter: the only supported number of processes */
static const setting settings[] = {
    {"s3d",               {{256, "13x17x12"}}                                               },
    {"ior",               {{'b', "1001"}, {'t', "77"}, {'s', "3"}}                          },
    {"ior",               {{'b', "1001"}, {'t', "77"}, {'s', "3"}, {'C', NULL}}             },
    {"ior",               {{'b', "32"}, {'t', "16"}, {'s', "1"}, {'Z', NULL}}               },
    {"ior",               {{'b', "1001"}, {'t', "77"}, {'s', "3"}, {'F', NULL}, {'C', NULL}}},
    {"ior",               {{'a', "HDF5"}, {'b', "48"}, {'t', "16"}, {'s', "3"}}             },
    {"ior",               {{'a', "NCMPI"}, {'b', "48"}, {'t', "16"}, {'s', "3"}, {'G', "1"}}},
    {"ramses-amr",        {{256, "16"}, {259, NULL}}                                        },
    {"ramses-amr",        {{256, "16"}, {257, "process-major"}, {259, NULL}}                },
    {"ramses-amr",        {{256, "8"}, {258, NULL}}                                         },
    {"ramses-amr",        {{256, "16"}, {259, NULL}, {OWN_FILES, NULL}}                     },
    {"ramses-amr",        {{256, "16"}, {259, NULL}, {260, "physical"}}                     },
    {"ramses-hydro",      {{256, "8"}, {258, NULL}, {260, "physical"}}                      },
    {"ramses-hydro",      {{256, "8"}, {259, NULL}}                                         },
    {"ramses-hydro",      {{256, "8"}, {257, "process-major"}, {258, NULL}}                 },
    {"ramses-hydro",      {{256, "8"}, {259, NULL}, {OWN_FILES, NULL}}                      },
    {"cgns-structured",   {{256, "5x3x2"}}                                                  },
    {"cgns-structured",   {{257, "3x4x7"}, {258, "float64"}}                                },
    {"cgns-structured",   {{256, "5x3x2"}, {259, NULL}}                                     },
    {"cgns-unstructured", {{256, "7"}}                                                      },
    {"metadata",          {{256, "7"}}                                                      },
    {"metadata",          {{256, "7"}, {257, NULL}}                                         },
    {"weather",           {{257, "13x17x3"}, {258, "3"}}                                    },
    {"weather",           {{257, "13x17x3"}, {258, "3"}, {259, NULL}}                       },
    {"file",              {{259, "0.5"}}                                                    },
    {"file",              {{257, "2x1x3"}, {ONLY_FOR, "6"}}                                 },
    {"file",              {{258, "lat=2:cyclic:2,lon=3:cyclic:5"}, {ONLY_FOR, "6"}}         },
    {"file",              {{258, "time=2:cyclic,lev=2:cyclic:2,lat=3"}, {ONLY_FOR, "12"}}   },
};

/* How often each element of each data set of a file was covered. */
typedef struct {
    unsigned char **seen;
    const io_schema *schema;
} cover;

static void start(cover *c, const io_schema *schema) {
    *c = (cover){.schema = schema, .seen = calloc((size_t)schema->ndatasets, sizeof *c->seen)};
    for (int i = 0; i < schema->ndatasets; i++) c->seen[i] = calloc(io_dataset_length(schema, i), 1);
}

static void finish(cover *c, const char *name, uint64_t processes) {
    for (int i = 0; i < c->schema->ndatasets; i++) {
        uint64_t n = io_dataset_length(c->schema, i), wrong = 0;
        for (uint64_t k = 0; k < n; k++) wrong += c->seen[i][k] != 1;
        CHECK(!wrong, "%s, %" PRIu64 " processes: %" PRIu64 " elements of %s are not covered once", name,
              processes, wrong, c->schema->datasets[i].name);
        free(c->seen[i]);
    }
    free(c->seen);
}

static void mark(cover *c, const io_part *part, const char *name) {
    const io_dataset *d = &c->schema->datasets[part->dataset];
    for (int i = 0; i < d->ndims; i++) {
        bool inside = part->start[i] + part->count[i] <= c->schema->dims[d->dim[i]].length;
        CHECK(inside, "%s: part of %s is outside along %d", name, d->name, i);
        CHECK(part->count[i] <= d->block[i], "%s: part of %s is larger than its block", name, d->name);
        if (!inside) return;
    }
    for (io_runs r = io_runs_of(c->schema, part); io_runs_next(&r);)
        for (uint64_t k = 0; k < r.length; k++) c->seen[part->dataset][r.global + k]++;
}

/* A file has zeros where nothing was written: facts that are all 0 would look written. */
static void check_facts(const io_pattern *p, const void *state, uint64_t owner, const io_schema *schema,
                        const io_part *part) {
    const io_dataset *d = &schema->datasets[part->dataset];
    uint64_t bytes = io_part_bytes(schema, part), zeros = 0;
    if (!d->facts || !bytes) return;
    unsigned char *values = malloc(bytes);
    p->facts(state, owner, 0, part, values);
    for (uint64_t i = 0; i < bytes; i++) zeros += !values[i];
    CHECK(zeros < bytes || d->zeros || schema->records, "%s: %s of process %" PRIu64 " is all 0", p->name,
          d->name, owner);
    free(values);
}

static uint64_t series_of(const io_pattern *p, const void *state) { return p->series ? p->series(state) : 1; }

/* Covers one process's parts of a file; returns their size in bytes. */
static uint64_t take(const io_pattern *p, const void *state, uint64_t owner, uint64_t number, cover *c,
                     io_part *parts) {
    uint64_t bytes = 0, records = 0, transfers = p->transfers(state) / series_of(p, state);
    for (uint64_t transfer = 0; transfer < transfers; transfer++) {
        int n = p->parts(state, owner, number * transfers + transfer, parts);
        CHECK(n > 0 && n <= io_most_parts(p, state), "%s: %d parts", p->name, n);
        for (int i = 0; i < n; i++) {
            CHECK(parts[i].offset == bytes, "%s: a part is at %" PRIu64 " in memory, not %" PRIu64, p->name,
                  parts[i].offset, bytes);
            mark(c, &parts[i], p->name);
            check_facts(p, state, owner, c->schema, &parts[i]);
            uint64_t rows = 0, elements = io_part_elements(c->schema, &parts[i]);
            if (elements) rows = elements / parts[i].count[c->schema->datasets[parts[i].dataset].ndims - 1];
            if (c->schema->records)
                CHECK(!rows || parts[i].frames == 8 * records + 4,
                      "%s: %" PRIu64 " bytes of marks before a part", p->name, parts[i].frames);
            records += rows;
            bytes += io_part_bytes(c->schema, &parts[i]);
        }
    }
    CHECK(bytes * series_of(p, state) == p->bytes(state, owner),
          "%s: process %" PRIu64 " has %" PRIu64 " bytes", p->name, owner, bytes);
    return bytes;
}

/* All files of one process, each complete in itself. */
static void check_own_files(const io_pattern *p, const void *state, const io_schema *schema,
                            uint64_t processes, uint64_t owner, io_part *parts) {
    uint64_t in_file = 0, n = series_of(p, state), transfers = p->transfers(state) / n;
    char name[256], before[256] = "";
    for (int i = 0; i < schema->ndatasets; i++) in_file += io_dataset_bytes(schema, i);
    for (uint64_t number = 0; number < n; number++) {
        cover c;
        start(&c, schema);
        uint64_t own = take(p, state, owner, number, &c, parts);
        finish(&c, p->name, processes);
        CHECK(own == in_file, "%s: a file per process holds %" PRIu64 " bytes", p->name, own);
        p->parts(state, owner, number * transfers, parts);
        CHECK(schema->datasets[0].facts || parts[0].index0 == owner * own,
              "%s: values of process %" PRIu64 " are its own", p->name, owner);
        if (!p->own_name) continue;
        p->own_name(state, 0, owner, number, name, sizeof name);
        CHECK(strcmp(name, before), "%s: two files are called %s", p->name, name);
        memcpy(before, name, sizeof before);
    }
}

static void check_cover(const io_pattern *p, const void *state, uint64_t processes) {
    io_schema schema;
    io_part *parts = malloc((size_t)io_most_parts(p, state) * sizeof *parts);
    cover c;
    p->schema(state, 0, &schema);
    uint64_t bytes = 0, in_file = 0;
    for (int i = 0; i < schema.ndatasets; i++) in_file += io_dataset_bytes(&schema, i);
    if (schema.file_per_process) {
        for (uint64_t owner = 0; owner < processes; owner++)
            check_own_files(p, state, &schema, processes, owner, parts);
        free(parts);
        return;
    }
    start(&c, &schema);
    for (uint64_t owner = 0; owner < processes; owner++) bytes += take(p, state, owner, 0, &c, parts);
    finish(&c, p->name, processes);
    CHECK(bytes == in_file, "%s: %" PRIu64 " bytes of %" PRIu64, p->name, bytes, in_file);
    free(parts);
}

static void check_readers(const io_pattern *p, const void *state, bool must_move, uint64_t processes) {
    if (!p->owner_to_read) return;
    for (uint64_t repeat = 0; repeat < 3; repeat++) {
        uint64_t times[MAX_PROCESSES] = {0};
        for (uint64_t rank = 0; rank < processes; rank++) {
            io_reader reader = {rank, processes, (rank + 2) % processes, repeat};
            uint64_t owner = p->owner_to_read(state, &reader);
            CHECK(owner < processes, "%s: process %" PRIu64 " reads %" PRIu64, p->name, rank, owner);
            if (owner < processes) times[owner]++;
            CHECK(!must_move || owner == reader.shifted, "%s: process %" PRIu64 " reads %" PRIu64, p->name,
                  rank, owner);
        }
        for (uint64_t i = 0; i < processes; i++)
            CHECK(times[i] == 1, "%s: %" PRIu64 " is read %" PRIu64 " times", p->name, i, times[i]);
    }
}

static void check_setting(const io_pattern *p, const setting *s, uint64_t processes) {
    io_error error = {0};
    io_setup setup = {.processes = processes, .seed = 1, .method = "test"};
    io_common common = {.repeats = 1, .dir = "."};
    bool shifts = false;
    void *state = calloc(1, p->state_size);
    p->defaults(state);
    for (int i = 0; s && i < MAX_WORDS && s->words[i].letter; i++) {
        if (s->words[i].letter == OWN_FILES)
            setup.own_files = true;
        else if (s->words[i].letter != ONLY_FOR)
            p->option(state, s->words[i].letter, s->words[i].value, &error);
        shifts |= s->words[i].letter == 'C';
    }
    if (p->adjust) p->adjust(state, &common, &error);
    p->configure(state, &setup, &error);
    CHECK(!error.set, "%s: %s", p->name, error.text);
    if (!error.set) {
        check_cover(p, state, processes);
        check_readers(p, state, shifts, processes);
    }
    if (p->release) p->release(state);
    free(state);
}

static bool goes(const setting *s, uint64_t processes) {
    for (int i = 0; i < MAX_WORDS; i++)
        if (s->words[i].letter == ONLY_FOR) return strtoull(s->words[i].value, NULL, 10) == processes;
    return true;
}

void unit_patterns(void) {
    int n;
    const io_pattern *const *all = io_patterns(&n);
    for (int i = 0; i < n; i++) {
        bool known = false;
        if (all[i]->schedule) continue; /* its data is not described by boxes */
        for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
            if (strcmp(settings[k].pattern, all[i]->name)) continue;
            known = true;
            for (uint64_t processes = 1; processes <= MAX_PROCESSES; processes++)
                if (goes(&settings[k], processes)) check_setting(all[i], &settings[k], processes);
        }
        for (uint64_t processes = 1; !known && processes <= MAX_PROCESSES; processes++)
            check_setting(all[i], NULL, processes);
    }
}
