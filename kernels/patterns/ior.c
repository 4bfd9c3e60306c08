/* SPDX-License-Identifier: BSD-3-Clause */
/* ior: IOR's pattern, with IOR's option letters, in files that IOR can read, and vice versa.
 *
 * A file holds `s` segments; each segment has one block of `b` bytes per process, written in transfers of `t`
 * bytes. With -F every process has its own file. Differences from IOR 4: every read is verified (IOR verifies
 * with -R only); -C on a single node, where IOR does not shift, shifts by one process; -Z assigns each
 * process another's data by a permutation (IOR's -Z -Z), so that every byte is read. Sizes that are not
 * multiples of 8, which IOR rejects, give one data set of bytes with every API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_ior;

/* The layout of each library's file (aiori-HDF5.c, aiori-NCMPI.c of IOR 4). */
typedef enum {
    BYTES,    /* all bytes in one data set */
    SEGMENTS, /* HDF5: an int64 data set per segment */
    RECORDS,  /* PnetCDF: one variable, with a record per block and a row per transfer */
} layout;

typedef struct {
    const char *api, *file;
    layout layout;
    uint64_t block, transfer, segments, processes, seed;
    uint64_t repeats; /* 0: not given */
    uint64_t signature;
    bool per_process, collective, shift, shuffle, fsync, keep, write, read, signed_data;
    io_dim dims[3];
    int ndims;
    uint64_t nsets;
    io_dataset *sets;
    char (*names)[40];
    char name[IO_MAX_PATH];
} ior;

static const io_option options[] = {
    {NULL, 'a', "API", "POSIX, MPIIO, HDF5 or NCMPI (default POSIX)"},
    {NULL, 'b', "SIZE", "block size: contiguous bytes of a process in a segment (default 1m)"},
    {NULL, 't', "SIZE", "transfer size: bytes of a call (default 256k)"},
    {NULL, 's', "N", "number of segments (default 1)"},
    {NULL, 'F', NULL, "file per process"},
    {NULL, 'c', NULL, "collective calls (default: independent)"},
    {NULL, 'G', "N", "data of IOR's -G N, which its -R checks (default: values of this program)"},
    {NULL, 'C', NULL, "read back data of a process on the next node"},
    {NULL, 'Z', NULL, "read back data of a random other process"},
    {NULL, 'e', NULL, "fsync after writing (--fsync)"},
    {NULL, 'i', "N", "repetitions (--repeat)"},
    {NULL, 'w', NULL, "write only, unless -r is given too"},
    {NULL, 'r', NULL, "read only, unless -w is given too"},
    {NULL, 'R', NULL, "read and verify (here every read is verified)"},
    {NULL, 'k', NULL, "keep the files (--keep)"},
    {NULL, 'o', "FILE", "file name, in --dir or with its own directory (default testFile)"},
    {0},
};

/* Names of IOR's APIs. */
static const struct {
    const char *api, *method, *with_f;
    layout shared, own;
} apis[] = {
    {"POSIX", "posix-shared", "posix",   BYTES,    BYTES   },
    {"MPIIO", "mpiio",        "mpiio",   BYTES,    BYTES   },
    {"HDF5",  "hdf5",         "hdf5",    SEGMENTS, SEGMENTS},
    {"NCMPI", "pnetcdf",      "pnetcdf", RECORDS,  BYTES   }, /* IOR does not support -F with it */
};

static void defaults(void *state) {
    ior *s = state;
    s->block = 1 << 20;
    s->transfer = 256 << 10;
    s->segments = 1;
}

static int option(void *state, int letter, const char *value, io_error *error) {
    ior *s = state;
    switch (letter) {
    case 'a': s->api = value; return 0;
    case 'b': return io_parse_size("-b", value, &s->block, error);
    case 't': return io_parse_size("-t", value, &s->transfer, error);
    case 's': return io_parse_count("-s", value, &s->segments, error);
    case 'F': s->per_process = true; return 0;
    case 'G': s->signed_data = true; return io_parse_count("-G", value, &s->signature, error);
    case 'c': s->collective = true; return 0;
    case 'C': s->shift = true; return 0;
    case 'Z': s->shuffle = true; return 0;
    case 'e': s->fsync = true; return 0;
    case 'i': return io_parse_count("-i", value, &s->repeats, error);
    case 'w': s->write = true; return 0;
    case 'r': s->read = true; return 0;
    case 'R': return 0;
    case 'k': s->keep = true; return 0;
    default: s->file = value; return 0;
    }
}

static int choose_method(ior *s, io_common *common, io_error *error) {
    const char *api = s->api ? s->api : common->method ? NULL : "POSIX", *name = NULL;
    for (size_t i = 0; api && i < sizeof apis / sizeof *apis; i++)
        if (!strcmp(apis[i].api, api)) name = s->per_process ? apis[i].with_f : apis[i].method;
    if (api && !name)
        return io_fail_usage(error, "-a %s is unknown; expected POSIX, MPIIO, HDF5 or NCMPI", api);
    if (name && common->method && strcmp(common->method, name))
        return io_fail_usage(error, "-a %s means --method %s, but --method %s was given; give one of them",
                             api, name, common->method);
    if (name) common->method = name;
    for (size_t i = 0; common->method && i < sizeof apis / sizeof *apis; i++)
        if (!strcmp(apis[i].method, common->method))
            s->layout = s->per_process ? apis[i].own : apis[i].shared;
    common->calls = s->collective ? IO_COLLECTIVE_CALLS : IO_INDEPENDENT_CALLS;
    return 0;
}

/* -o may include a directory, as in IOR. */
static int choose_file(ior *s, io_common *common, io_error *error) {
    const char *file = s->file ? s->file : "testFile", *slash = strrchr(file, '/');
    if (slash && !slash[1]) return io_fail_usage(error, "-o %s is a directory; expected a file name", file);
    if (slash && common->dir[0] && file[0] != '/')
        return io_fail_usage(error, "-o %s has a directory and --dir is given too; give one of them", file);
    if (slash)
        snprintf(common->dir, sizeof common->dir, "%.*s", slash == file ? 1 : (int)(slash - file), file);
    else if (s->file && !common->dir[0])
        strcpy(common->dir, ".");
    snprintf(s->name, sizeof s->name, "%s", slash ? slash + 1 : file);
    return 0;
}

static int adjust(void *state, io_common *common, io_error *error) {
    ior *s = state;
    if (choose_method(s, common, error) || choose_file(s, common, error)) return -1;
    if (s->fsync) common->fsync = true;
    if (s->keep) common->keep = true;
    if (s->repeats) common->repeats = s->repeats;
    if (s->write && !s->read) common->write_only = true;
    if (s->read && !s->write) common->read_only = true;
    return 0;
}

/* Creates data sets that hold `all` bytes of a file. */
static int build(ior *s, uint64_t all, io_error *error) {
    uint64_t segment = all / s->segments, words = sizeof(int64_t);
    s->nsets = s->layout == SEGMENTS ? s->segments : 1;
    if (s->nsets > INT32_MAX / sizeof *s->sets)
        return io_fail_usage(error, "-s %llu: HDF5 needs a data set per segment; use fewer segments",
                             (unsigned long long)s->segments);
    s->sets = calloc(s->nsets, sizeof *s->sets);
    s->names = calloc(s->nsets, sizeof *s->names);
    if (!s->sets || !s->names)
        return io_fail(error, "out of memory for %llu data sets", (unsigned long long)s->nsets);
    s->ndims = s->layout == RECORDS ? 3 : 1;
    s->dims[0] = s->layout == SEGMENTS  ? (io_dim){.name = "words", .length = segment / words}
                 : s->layout == RECORDS ? (io_dim){"segments_times_np", all / s->block}
                                        : (io_dim){.name = "bytes", .length = all};
    s->dims[1] = (io_dim){.name = "number_of_transfers", .length = s->block / s->transfer};
    s->dims[2] = (io_dim){.name = "transfer_size", .length = s->transfer};
    for (uint64_t i = 0; i < s->nsets; i++) {
        io_dataset *d = &s->sets[i];
        snprintf(s->names[i], sizeof s->names[i], "Dataset-0000.%04llu", (unsigned long long)i);
        *d = (io_dataset){.name = s->layout == SEGMENTS  ? s->names[i]
                                  : s->layout == RECORDS ? "data_var"
                                                         : "data",
                          .type = s->layout == SEGMENTS ? IO_INT64 : IO_BYTE,
                          .ndims = s->ndims,
                          .facts = s->signed_data};
        for (int k = 0; k < s->ndims; k++) {
            d->dim[k] = k;
            d->block[k] = 1;
        }
        d->block[s->ndims - 1] = s->layout == SEGMENTS ? s->transfer / words : s->transfer;
    }
    return 0;
}

static void release(void *state) {
    ior *s = state;
    free(s->sets);
    free(s->names);
    s->sets = NULL;
    s->names = NULL;
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    ior *s = state;
    uint64_t own, all;
    if (setup->own_files) s->per_process = true;
    if (s->collective && !setup->collective)
        return io_fail_usage(
            error, "-c requests collective calls, which %s%s does not have; omit -c, or use -a MPIIO",
            setup->mode ? "mode " : "method ", setup->mode ? setup->mode : setup->method);
    if (s->block % s->transfer)
        return io_fail_usage(error, "-b %llu is not a multiple of the transfer size -t %llu",
                             (unsigned long long)s->block, (unsigned long long)s->transfer);
    if (__builtin_mul_overflow(s->block, s->segments, &own) ||
        __builtin_mul_overflow(own, setup->processes, &all) || all > INT64_MAX)
        return io_fail_usage(error, "-b x -s x processes is more than 2^63 bytes; use less");
    s->processes = setup->processes;
    s->seed = setup->seed;
    if (s->transfer % sizeof(int64_t)) s->layout = BYTES;
    if (s->signed_data && s->signature > INT32_MAX)
        return io_fail_usage(error, "-G %llu: expected at most 2^31 - 1", (unsigned long long)s->signature);
    return build(s, s->per_process ? own : all, error);
}

static json_t *describe(const void *state) {
    const ior *s = state;
    return json_pack("{s:I,s:I,s:I,s:b,s:b,s:b,s:I}", "block", (json_int_t)s->block, "transfer",
                     (json_int_t)s->transfer, "segments", (json_int_t)s->segments, "file_per_process",
                     s->per_process, "reorder", s->shift, "shuffle", s->shuffle, "signature",
                     (json_int_t)s->signature);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const ior *s = state;
    (void)step;
    *out = (io_schema){.ndims = s->ndims,
                       .dims = s->dims,
                       .ndatasets = (int)s->nsets,
                       .datasets = s->sets,
                       .grows = s->layout == RECORDS,
                       .file_per_process = s->per_process};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)extension; /* IOR's names have none */
    if (step)
        snprintf(name, size, "%s.%llu", ((const ior *)state)->name, (unsigned long long)step);
    else
        snprintf(name, size, "%s", ((const ior *)state)->name);
}

static uint64_t transfers(const void *state) {
    const ior *s = state;
    return s->segments * (s->block / s->transfer);
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const ior *s = state;
    uint64_t per_block = s->block / s->transfer, segment = transfer / per_block, row = transfer % per_block;
    uint64_t offset = transfer * s->transfer; /* a process's blocks are contiguous in its memory */
    uint64_t block = s->per_process ? segment : segment * s->processes + owner; /* in the file */
    uint64_t at = block * s->block + row * s->transfer, words = sizeof(int64_t);
    *out = (io_part){.offset = offset};
    if (s->per_process) out->index0 = owner * s->block * s->segments;
    switch (s->layout) {
    case SEGMENTS:
        out->dataset = (int)segment;
        out->start[0] = (at - segment * (s->per_process ? 1 : s->processes) * s->block) / words;
        out->count[0] = s->transfer / words;
        out->index0 = s->per_process ? owner * s->block / words : 0;
        break;
    case RECORDS:
        out->start[0] = block;
        out->start[1] = row;
        out->count[0] = out->count[1] = 1;
        out->count[2] = s->transfer;
        break;
    default: out->start[0] = at; out->count[0] = s->transfer;
    }
    return 1;
}

/* IOR's own data with -G: in each transfer, words counting up from the signature, with the process in the
 * upper half. */
static void facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    const ior *s = state;
    char *next = out;
    (void)step, (void)part;
    for (uint64_t i = 0; i < s->transfer / sizeof(uint64_t); i++, next += sizeof(uint64_t)) {
        uint64_t word = owner << 32 | (s->signature + i);
        memcpy(next, &word, sizeof word);
    }
    for (uint64_t i = s->transfer - s->transfer % sizeof(uint64_t); i < s->transfer; i++) *next++ = (char)i;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return ((const ior *)state)->block * ((const ior *)state)->segments;
}

/* The same permutation on every process (Fisher-Yates), with a small private generator. */
static uint64_t shuffled(uint64_t seed, uint64_t size, uint64_t rank) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1, place = rank;
    /* Follows one element through the swaps from the last position down, without storing the permutation. */
    for (uint64_t i = size - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t j = (state >> 33) % (i + 1);
        if (place == i)
            place = j;
        else if (place == j)
            place = i;
    }
    return place;
}

static uint64_t owner_to_read(const void *state, const io_reader *reader) {
    const ior *s = state;
    if (s->shuffle) return shuffled(s->seed + reader->repeat, reader->size, reader->rank);
    return s->shift ? reader->shifted : reader->rank;
}

const io_pattern io_pattern_ior = {
    .name = "ior",
    .summary = "IOR: segments of one block per process, moved in transfers",
    .options = options,
    .state_size = sizeof(ior),
    .max_parts = 1,
    .defaults = defaults,
    .option = option,
    .adjust = adjust,
    .configure = configure,
    .release = release,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
    .facts = facts,
    .owner_to_read = owner_to_read,
};
