/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of a pattern: which data exists and which process owns which part.
 *
 * Add one: a file in patterns/ that defines `const io_pattern io_pattern_NAME` and a line in
 * patterns/patterns.def (docs/add-a-pattern.md). Everything here is a pure function of the options
 * and of (process count, owner), so that --plan can ask for any process of any size of machine.
 * base/data.h has the words (schema, data set, part), base/layout.h and base/parse.h what helps. */
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

/* The circumstances that a pattern is configured for. */
typedef struct {
    uint64_t processes, seed;
    bool own_files;            /* the method writes a file per process */
    bool collective;           /* calls are collective */
    const char *method, *mode; /* names for messages; mode NULL: the method has no modes */
} io_setup;

/* Common options that a pattern's own options may set, like IOR's letters: first as given, then as the
 * pattern leaves them. */
typedef struct {
    const char *method, *mode;                                              /* names; NULL: not given */
    enum { IO_ANY_CALLS, IO_COLLECTIVE_CALLS, IO_INDEPENDENT_CALLS } calls; /* used if `mode` is not given */
    char dir[IO_MAX_PATH];                                                  /* "": not given */
    uint64_t repeats;
    bool fsync, keep, write_only, read_only;
    bool packs; /* the pattern's options may decide io_pattern.packs */
} io_common;

/* Input for who reads what back: the process and the layout of the job. */
typedef struct {
    uint64_t rank, size, per_node, nodes, repeat;
} io_reader;

struct io_pattern {
    const char *name, *summary;
    const io_option *options; /* ends with one whose letter is 0 */
    size_t state_size;
    int max_parts; /* parts of a transfer; 0: ask `most_parts` */
    bool packs;    /* the application packs its data into one buffer: the default of --buffer is reused */

    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Optional. Called after parsing: sets common options that follow from the pattern's own. */
    int (*adjust)(void *state, io_common *common, io_error *error);
    /* Checks the options for the number of processes and builds the schema. */
    int (*configure)(void *state, const io_setup *setup, io_error *error);
    void (*release)(void *state);
    json_t *(*describe)(const void *state); /* the options in force, for the document */

    void (*schema)(const void *state, uint64_t step, io_schema *schema);
    void (*file_name)(const void *state, uint64_t step, const char *extension, char *name, size_t size);
    uint64_t (*transfers)(const void *state); /* per process and step, the same for all */
    /* The parts of a transfer, in file order and consecutive in memory. Returns their number. Number and data
     * sets are the same for all owners. */
    int (*parts)(const void *state, uint64_t owner, uint64_t transfer, io_part *parts);
    uint64_t (*bytes)(const void *state, uint64_t owner); /* of one step */
    int (*most_parts)(const void *state);
    /* Optional. Consecutive transfers with one name are a stretch, which is timed separately within the
     * phases write and read: the names, at most IO_MAX_STRETCHES and a NULL, and the name of each transfer.
     */
    const char *const *stretches;
    int (*stretch)(const void *state, uint64_t transfer);
    /* Optional. A series: each process handles so many files of its own in a step (schema.file_per_process),
     * one after the other, and each operation on them is timed. All have the same size and number of
     * transfers; transfers count through them, and the offset of a part is the one in its file. */
    uint64_t (*series)(const void *state);
    /* Optional. The owner whose parts a process reads back; default: shifted by one node. */
    uint64_t (*owner_to_read)(const void *state, const io_reader *reader);
    /* For data sets marked `facts`: the values of a part from parts(), without gaps. They must not all be 0,
     * because lost writes read as zeros; except with record marks beside them, or if the data set allows it
     * (`zeros`). */
    void (*facts)(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out);

    /* For methods with a file per process; both optional. A pattern with a different layout there checks
     * setup->own_files. */
    /* The name of the owner's file (`number`: in its series, from 0). It may hold one directory, shared or
     * per owner, which the driver makes. Default: file_name and the owner's number. */
    void (*own_name)(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size);
    /* Small text files that process 0 writes beside them, index 0, 1, ...: the name, and the text to `out`
     * (NULL: only the name). False if there are no more. */
    bool (*text_file)(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out);

    /* Optional. Instead of transfers: the calls of each process, and how much of the time between phases is
     * kept. The driver makes those calls (driver/replay.h), without a method. */
    const io_schedule *(*schedule)(const void *state, double *think);
};

#endif
