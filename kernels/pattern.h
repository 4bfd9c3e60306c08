/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of a pattern: which data exists and which process owns which part.
 *
 * To add one: a file in patterns/ that defines `const io_pattern io_pattern_NAME`, and a line in
 * patterns/patterns.def (docs/add-a-pattern.md). All functions are pure functions of the options and of
 * (process count, owner), so that --plan can describe any process of a machine of any size. base/data.h
 * defines the terms (schema, data set, part); base/layout.h and base/parse.h have helpers. */
#ifndef IOGAUGE_PATTERN_H
#define IOGAUGE_PATTERN_H

#include <jansson.h>
#include <stdio.h>

#include "base/data.h"
#include "base/error.h"
#include "base/layout.h"
#include "base/option.h"
#include "base/parse.h"
#include "base/schedule.h"

typedef struct io_pattern io_pattern;
#define IO_MAX_STRETCHES 8

/* The configuration that a pattern runs in. */
typedef struct {
    uint64_t processes, seed;
    bool own_files;            /* the method writes a file per process */
    bool collective;           /* calls are collective */
    const char *method, *mode; /* names for messages; mode is NULL if the method has no modes */
} io_setup;

/* Common options that a pattern may set, as IOR's letters do: on input as given, on output as adjusted. */
typedef struct {
    const char *method, *mode;                                              /* names; NULL if not given */
    enum { IO_ANY_CALLS, IO_COLLECTIVE_CALLS, IO_INDEPENDENT_CALLS } calls; /* used if `mode` is not given */
    char dir[IO_MAX_PATH];                                                  /* "" if not given */
    uint64_t repeats;
    bool fsync, keep, overwrite, write_only, read_only;
    bool packs; /* options of the pattern may change io_pattern.packs */
} io_common;

/* Input for the choice of the owner to read back: this process, and the one that it reads by default. */
typedef struct {
    uint64_t rank, size, shifted, repeat; /* shifted: see io_world */
} io_reader;

struct io_pattern {
    const char *name, *summary;
    const io_option *options; /* ends with an entry whose letter is 0 */
    size_t state_size;
    int max_parts;  /* parts per transfer; 0: see `most_parts` */
    bool packs;     /* the application packs its data into one buffer, so --buffer defaults to reused */
    bool unaligned; /* data lies where malloc() places a program's, not at the start of a page: pread() from
                     * memory then takes 1.1 times as long, as it does in the program that this stands for */

    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Optional. Called after parsing: sets common options that depend on the pattern's own. */
    int (*adjust)(void *state, io_common *common, io_error *error);
    /* Checks the options for the number of processes and builds the schema. */
    int (*configure)(void *state, const io_setup *setup, io_error *error);
    void (*release)(void *state);
    json_t *(*describe)(const void *state); /* the options in effect, for the result document */

    void (*schema)(const void *state, uint64_t step, io_schema *schema);
    void (*file_name)(const void *state, uint64_t step, const char *extension, char *name, size_t size);
    uint64_t (*transfers)(const void *state); /* per process and step; the same for all processes */
    /* The parts of a transfer, in file order and contiguous in memory. Returns their number. The number and
     * the data sets are the same for all owners. */
    int (*parts)(const void *state, uint64_t owner, uint64_t transfer, io_part *parts);
    uint64_t (*bytes)(const void *state, uint64_t owner); /* per step */
    int (*most_parts)(const void *state);
    /* Optional. Consecutive transfers with one name form a stretch, timed separately within the write and
     * read phases: the names, at most IO_MAX_STRETCHES, ending with NULL, and the index for each transfer. */
    const char *const *stretches;
    int (*stretch)(const void *state, uint64_t transfer);
    /* Optional. A series: in each step a process handles this many files alone
     * (schema.file_per_process), one after another, and each operation on them is timed. All have the same
     * size and number of transfers. Transfers are numbered across files; the offset of a part is within its
     * file. */
    uint64_t (*series)(const void *state);
    /* Optional. Is each file of the series first created without bytes, and only that timed as `create`? */
    bool (*creates_empty)(const void *state);
    /* Optional. The owner whose parts a process reads back. Default: reader->shifted. */
    uint64_t (*owner_to_read)(const void *state, const io_reader *reader);
    /* For data sets marked `facts`: the values of a part from parts(), without gaps. They must not all be 0,
     * because lost writes read as zeros, unless record marks surround them or the data set is marked
     * `zeros`. */
    void (*facts)(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out);

    /* For methods with a file per process; both optional. A pattern with a different layout in that case
     * checks setup->own_files. */
    /* The name of the owner's file (`number` in its series, from 0). It may contain one directory, shared or
     * per owner, which the driver creates. Default: file_name and the owner's number. */
    void (*own_name)(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size);
    /* Small text files that process 0 writes as well, index 0, 1, ...: the name, and the text to `out` (NULL:
     * only the name). False if there are no more. */
    bool (*text_file)(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out);

    /* Optional. Replaces transfers: the recorded calls of each process, and the fraction of the time between
     * phases to keep. The driver makes these calls (driver/replay.h) without a method. */
    const io_schedule *(*schedule)(const void *state, double *think);
};

#endif
