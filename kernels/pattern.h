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

/* What a pattern is configured for. */
typedef struct {
    uint64_t processes, seed;
    bool own_files;            /* the method gives each process a file of its own */
    bool collective;           /* all processes make each call together */
    const char *method, *mode; /* names, for messages only; mode NULL: the method has none */
} io_setup;

/* The run's options that a pattern's own may stand for, as IOR's letters do: as they were given, and as the
 * pattern leaves them. */
typedef struct {
    const char *method, *mode;                                              /* names; NULL: not given */
    enum { IO_ANY_CALLS, IO_COLLECTIVE_CALLS, IO_INDEPENDENT_CALLS } calls; /* preferred without `mode` */
    char dir[IO_MAX_PATH];                                                  /* "": not given */
    uint64_t repeats;
    bool fsync, keep, write_only, read_only;
    bool packs; /* the pattern's options may say what io_pattern.packs does */
} io_common;

/* Who reads what back: the process and what it may depend on. */
typedef struct {
    uint64_t rank, size, per_node, nodes, repeat;
} io_reader;

struct io_pattern {
    const char *name, *summary;
    const io_option *options; /* ends with one whose letter is 0 */
    size_t state_size;
    int max_parts; /* of one transfer; 0: `most_parts` knows */
    bool packs;    /* its code packs what it writes into one buffer: the default of --buffer is reused */

    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Optional. Once all options are read: those of the run that follow from its own. */
    int (*adjust)(void *state, io_common *common, io_error *error);
    /* Checks the options against the process count and builds the schema. */
    int (*configure)(void *state, const io_setup *setup, io_error *error);
    void (*release)(void *state);
    json_t *(*describe)(const void *state); /* the options in force, for the result */

    void (*schema)(const void *state, uint64_t step, io_schema *schema);
    void (*file_name)(const void *state, uint64_t step, const char *extension, char *name, size_t size);
    uint64_t (*transfers)(const void *state); /* per process and step, the same for all */
    /* The parts of a transfer, in file order and one after the other in memory; returns how many, the
     * same for every owner, and the same data sets. */
    int (*parts)(const void *state, uint64_t owner, uint64_t transfer, io_part *parts);
    uint64_t (*bytes)(const void *state, uint64_t owner); /* of one step */
    int (*most_parts)(const void *state);
    /* Optional. Transfers of one name that follow each other are a stretch, which is timed on its own within
     * the phases write and read: the names, at most IO_MAX_STRETCHES and a NULL, and which one a transfer
     * has. */
    const char *const *stretches;
    int (*stretch)(const void *state, uint64_t transfer);
    /* Optional. A series: so many files of its own (schema.file_per_process) each process handles one after
     * the other in a step, and each operation on them is timed. All have the same size and the
     * same number of transfers; transfers count through them, and a part's offset is that in its file. */
    uint64_t (*series)(const void *state);
    /* Optional. Whose parts a process reads back; default: shifted by one node. */
    uint64_t (*owner_to_read)(const void *state, const io_reader *reader);
    /* For data sets marked `facts`: the values of a part, as parts() gave it, without gaps. Not all of them
     * may be 0, unless marks of a record stand beside them or the data set says so (`zeros`): storage that
     * lost them would read as zeros. */
    void (*facts)(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out);

    /* For methods with a file for each process; both optional. A pattern that arranges its data in another
     * way there looks at setup->own_files. */
    /* What the owner's file is called (`number`: in its series, from 0); may hold one directory, which the
     * driver makes: one for all, or one for each owner. Default: file_name and the owner's number. */
    void (*own_name)(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size);
    /* Small text files that process 0 writes beside them, index 0, 1, ...: its name, and its text to `out`
     * (NULL: only the name is asked for). False where there is no more. */
    bool (*text_file)(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out);

    /* Optional. In place of transfers: what each process does, call by call, and how much of the time between
     * phases is kept. The driver makes those calls (driver/replay.h), and no method does. */
    const io_schedule *(*schedule)(const void *state, double *think);
};

#endif
