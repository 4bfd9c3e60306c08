/* SPDX-License-Identifier: BSD-3-Clause */
/* ior: IOR's pattern, by IOR's option letters.
 *
 * A file holds `s` segments; in each segment every process has one block of `b` bytes, written in
 * transfers of `t` bytes, one transfer each. With -F every process has such a file for itself. Where
 * this differs from IOR 4: every read is verified (IOR verifies with -R only); -C on a single node,
 * where IOR's shift comes to nothing, shifts by one process; -Z gives each process another's data
 * by a permutation (IOR's -Z -Z), so that every byte is read. */
#include <stdio.h>
#include <string.h>

#include "pattern.h"

extern const io_pattern io_pattern_ior;

typedef struct {
    const char *api, *file;
    uint64_t block, transfer, segments, processes, seed;
    uint64_t repeats; /* 0: not given */
    bool per_process, collective, shift, shuffle, fsync, keep, write, read;
    io_dim dim;
    io_dataset data;
    char name[IO_MAX_PATH];
} ior;

static const io_option options[] = {
    {NULL, 'a', "API", "POSIX, MPIIO, HDF5 or NCMPI (default POSIX)"},
    {NULL, 'b', "SIZE", "block: contiguous bytes of each process in a segment (default 1m)"},
    {NULL, 't', "SIZE", "transfer: bytes of a call (default 256k)"},
    {NULL, 's', "N", "segments (default 1)"},
    {NULL, 'F', NULL, "file for each process"},
    {NULL, 'c', NULL, "collective calls (else independent)"},
    {NULL, 'C', NULL, "read back what the next node's process wrote"},
    {NULL, 'Z', NULL, "read back what a random other process wrote"},
    {NULL, 'e', NULL, "fsync after writing (--fsync)"},
    {NULL, 'i', "N", "repetitions (--repeat)"},
    {NULL, 'w', NULL, "write only, unless -r is there too"},
    {NULL, 'r', NULL, "read only, unless -w is there too"},
    {NULL, 'R', NULL, "read and verify (here every read is verified)"},
    {NULL, 'k', NULL, "keep the files (--keep)"},
    {NULL, 'o', "FILE", "file name, in --dir or with its own directory (default testFile)"},
    {0},
};

/* What each API of IOR is called here. */
static const struct {
    const char *api, *method, *with_f;
} apis[] = {
    {"POSIX", "posix-shared", "posix"  },
    {"MPIIO", "mpiio",        "mpiio"  },
    {"HDF5",  "hdf5",         "hdf5"   },
    {"NCMPI", "pnetcdf",      "pnetcdf"},
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

static int choose_method(const ior *s, io_common *common, io_error *error) {
    const char *api = s->api ? s->api : common->method ? NULL : "POSIX", *name = NULL;
    for (size_t i = 0; api && i < sizeof apis / sizeof *apis; i++)
        if (!strcmp(apis[i].api, api)) name = s->per_process ? apis[i].with_f : apis[i].method;
    if (api && !name)
        return io_fail_usage(error, "-a %s is unknown; right is POSIX, MPIIO, HDF5 or NCMPI", api);
    if (name && common->method && strcmp(common->method, name))
        return io_fail_usage(error, "-a %s means --method %s, but --method %s was given; give one of them",
                             api, name, common->method);
    if (name) common->method = name;
    common->calls = s->collective ? IO_COLLECTIVE_CALLS : IO_INDEPENDENT_CALLS;
    return 0;
}

/* -o may name a directory too, as in IOR. */
static int choose_file(ior *s, io_common *common, io_error *error) {
    const char *file = s->file ? s->file : "testFile", *slash = strrchr(file, '/');
    if (slash && !slash[1])
        return io_fail_usage(error, "-o %s names a directory; right is a file name", file);
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

static int configure(void *state, const io_setup *setup, io_error *error) {
    ior *s = state;
    uint64_t own, all;
    if (setup->own_files) s->per_process = true;
    if (s->collective && !setup->collective)
        return io_fail_usage(
            error, "-c asks for collective calls, which %s%s has not; leave -c out, or use -a MPIIO",
            setup->mode ? "mode " : "method ", setup->mode ? setup->mode : setup->method);
    if (s->block % s->transfer)
        return io_fail_usage(error,
                             "-b %llu is not a multiple of -t %llu; right is a block of whole transfers",
                             (unsigned long long)s->block, (unsigned long long)s->transfer);
    if (__builtin_mul_overflow(s->block, s->segments, &own) ||
        __builtin_mul_overflow(own, setup->processes, &all) || all > INT64_MAX)
        return io_fail_usage(error, "-b x -s x processes is more than 2^63 bytes; right is less");
    s->processes = setup->processes;
    s->seed = setup->seed;
    s->dim = (io_dim){"bytes", s->per_process ? own : all};
    s->data =
        (io_dataset){.name = "data", .type = IO_BYTE, .role = IO_FIELD, .ndims = 1, .block = {s->transfer}};
    return 0;
}

static json_t *describe(const void *state) {
    const ior *s = state;
    return json_pack("{s:I,s:I,s:I,s:b,s:b,s:b}", "block", (json_int_t)s->block, "transfer",
                     (json_int_t)s->transfer, "segments", (json_int_t)s->segments, "file_per_process",
                     s->per_process, "reorder", s->shift, "shuffle", s->shuffle);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const ior *s = state;
    (void)step;
    *out = (io_schema){.ndims = 1,
                       .dims = &s->dim,
                       .ndatasets = 1,
                       .datasets = &s->data,
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
    uint64_t per_block = s->block / s->transfer, segment = transfer / per_block;
    uint64_t offset = transfer * s->transfer; /* blocks of a process follow each other in its memory */
    uint64_t own_bytes = s->block * s->segments;
    *out = (io_part){.offset = offset, .count = {s->transfer}};
    if (s->per_process) {
        out->start[0] = offset;
        out->index0 = owner * own_bytes;
    } else {
        out->start[0] = (segment * s->processes + owner) * s->block + transfer % per_block * s->transfer;
    }
    return 1;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return ((const ior *)state)->block * ((const ior *)state)->segments;
}

/* The same permutation on every process (Fisher and Yates), by a small generator of its own. */
static uint64_t shuffled(uint64_t seed, uint64_t size, uint64_t rank) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1, place = rank;
    /* Follows one element through the swaps from the last place down, so that nothing is stored. */
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
    if (!s->shift) return reader->rank;
    return (reader->rank + (reader->nodes > 1 ? reader->per_node : 1)) % reader->size;
}

const io_pattern io_pattern_ior = {
    .name = "ior",
    .summary = "IOR: segments of one block for each process, moved in transfers",
    .options = options,
    .state_size = sizeof(ior),
    .max_parts = 1,
    .defaults = defaults,
    .option = option,
    .adjust = adjust,
    .configure = configure,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
    .owner_to_read = owner_to_read,
};
