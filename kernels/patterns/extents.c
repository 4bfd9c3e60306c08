/* SPDX-License-Identifier: BSD-3-Clause */
/* extents: the data of another program, as arrays and hyperslabs, through any method. iogauge replay plan
 * --what-if converts a trace to this format:
 *
 *   8 bytes EXTENTS_MAGIC
 *   uint64 (little-endian) numbers: for each transfer, for each process, its parts: start and count in each
 *     dimension; parts with a count of 0 make their number equal on all processes
 *   a JSON object: format, source, recorder, said, processes, steps,
 *     datasets: name, type (byte, float64), dims (slowest first), transfers: dataset, parts (per process)
 *   uint64: its length, 8 bytes EXTENTS_END */
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pattern.h"

extern const io_pattern io_pattern_extents;

#define EXTENTS_MAGIC "IOGEXTNT"
#define EXTENTS_END "IOGE-END"
#define EXTENTS_FORMAT "iogauge.extents/1"
#define MAGIC_BYTES 8
#define TAIL (2 * MAGIC_BYTES)
#define MAX_DATASETS 65536
#define MAX_NAME 200
#define MAX_BYTES ((uint64_t)1 << 62)

typedef struct {
    int dataset;
    uint64_t parts, first; /* first: index of process 0's first number */
} transfer_of;

typedef struct {
    const char *path;
    char *map; /* the file */
    uint64_t mapped, bytes, processes, ndatasets, ntransfers, most;
    int ndims;
    json_t *header;
    const char *source, *recorder;
    char *names; /* of dimensions */
    io_dim *dims;
    io_dataset *datasets;
    transfer_of *transfers;
    uint64_t *made;      /* without a file: the numbers */
    uint64_t columns[3]; /* of --columns, or 0 */
    char text[96];
} extents;

static const io_option options[] = {
    {"extents", 256, "FILE", "arrays of a traced program, from iogauge replay plan LOG -o S --what-if FILE"},
    {"columns", 257, "RxAxB",
     "instead: R rows of A and B bytes; one call writes the first columns, another the rest"},
    {0},
};

static void defaults(void *state) { (void)state; }

static int option(void *state, int letter, const char *value, io_error *error) {
    extents *s = state;
    if (letter == 257) {
        snprintf(s->text, sizeof s->text, "--columns %s", value);
        return io_parse_grid("--columns", value, s->columns, error);
    }
    s->path = value;
    return 0;
}

static int damaged(const extents *s, const char *what, io_error *error) {
    return io_fail_usage(error, "--extents: %s; expected a file written by iogauge replay plan --what-if: %s",
                         what, s->path);
}

static uint64_t number(const extents *s, uint64_t i) {
    uint64_t n;
    if (s->made) return s->made[i];
    memcpy(&n, s->map + MAGIC_BYTES + i * sizeof n, sizeof n);
    return le64toh(n);
}

static int map_file(extents *s, io_error *error) {
    struct stat st;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0) close(fd);
        return io_fail_usage(error, "--extents: cannot open %s", s->path);
    }
    s->bytes = (uint64_t)st.st_size;
    void *map = S_ISREG(st.st_mode) && s->bytes >= MAGIC_BYTES + TAIL
                    ? mmap(NULL, s->bytes, PROT_READ, MAP_PRIVATE, fd, 0)
                    : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return damaged(s, "not a file of extents", error);
    s->map = map;
    s->mapped = s->bytes;
    uint64_t length;
    memcpy(&length, s->map + s->bytes - TAIL, sizeof length);
    length = le64toh(length);
    if (memcmp(s->map, EXTENTS_MAGIC, MAGIC_BYTES)) return damaged(s, "not a file of extents", error);
    if (memcmp(s->map + s->bytes - MAGIC_BYTES, EXTENTS_END, MAGIC_BYTES) ||
        length > s->bytes - MAGIC_BYTES - TAIL)
        return damaged(s, "truncated", error);
    s->header = json_loadb(s->map + s->bytes - TAIL - length, length, JSON_REJECT_DUPLICATES, NULL);
    s->bytes -= TAIL + length + MAGIC_BYTES; /* of the numbers */
    return s->header ? 0 : damaged(s, "its header is not JSON", error);
}

static bool is_plain(const char *name) {
    size_t n = strlen(name);
    return n && n <= MAX_NAME && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static int parse_dataset(extents *s, json_t *from, uint64_t i, uint64_t *sum, io_error *error) {
    const char *name, *type;
    json_t *dims;
    io_dataset *d = &s->datasets[i];
    if (json_unpack(from, "{s:s,s:s,s:o}", "name", &name, "type", &type, "dims", &dims) || !is_plain(name))
        return damaged(s, "incomplete entry of an array", error);
    *d = (io_dataset){.name = name, .type = strcmp(type, "byte") ? IO_FLOAT64 : IO_BYTE};
    size_t n = json_array_size(dims);
    if (!n || n > IO_MAX_DIMS || strcmp(type, io_type_name(d->type)))
        return damaged(s, "array with invalid dimensions, or of unknown type", error);
    d->ndims = (int)n;
    uint64_t all = io_type_size(d->type);
    for (size_t k = 0; k < n; k++) {
        uint64_t at = (uint64_t)s->ndims++;
        json_int_t length = json_integer_value(json_array_get(dims, k));
        char *text = s->names + at * 32;
        snprintf(text, 32, "a%" PRIu64 "_%d", i, (int)k);
        if (length <= 0 || __builtin_mul_overflow(all, (uint64_t)length, &all) || all > MAX_BYTES)
            return damaged(s, "array with invalid dimensions", error);
        s->dims[at] = (io_dim){text, (uint64_t)length};
        d->dim[k] = (int)at;
    }
    return __builtin_add_overflow(*sum, all, sum) || *sum > MAX_BYTES ? damaged(s, "arrays too large", error)
                                                                      : 0;
}

static int make_room(extents *s, io_error *error) {
    s->names = calloc(s->ndatasets * IO_MAX_DIMS, 32);
    s->dims = calloc(s->ndatasets * IO_MAX_DIMS, sizeof *s->dims);
    s->datasets = calloc(s->ndatasets, sizeof *s->datasets);
    s->transfers = calloc(s->ntransfers, sizeof *s->transfers);
    if (!s->names || !s->dims || !s->datasets || !s->transfers)
        return io_fail(error, "out of memory for %" PRIu64 " arrays", s->ndatasets);
    return 0;
}

/* Checks that all parts lie in their array. The largest ones become the array's blocks. */
static int check_parts(extents *s, const transfer_of *t, io_error *error) {
    io_dataset *d = &s->datasets[t->dataset];
    uint64_t at = t->first;
    for (uint64_t i = 0; i < s->processes * t->parts; i++, at += 2 * (uint64_t)d->ndims)
        for (int k = 0; k < d->ndims; k++) {
            uint64_t start = number(s, at + (uint64_t)k), count = number(s, at + (uint64_t)(d->ndims + k));
            uint64_t length = s->dims[d->dim[k]].length;
            if (start > length || count > length - start) return damaged(s, "part outside its array", error);
            if (count > d->block[k]) d->block[k] = count;
        }
    return 0;
}

static int parse_transfers(extents *s, json_t *list, io_error *error) {
    uint64_t numbers = 0;
    for (uint64_t i = 0; i < s->ntransfers; i++) {
        transfer_of *t = &s->transfers[i];
        json_int_t dataset, n;
        uint64_t more;
        if (json_unpack(json_array_get(list, i), "{s:I,s:I}", "dataset", &dataset, "parts", &n) ||
            dataset < 0 || (uint64_t)dataset >= s->ndatasets || n <= 0 || n > INT32_MAX)
            return damaged(s, "incomplete entry of a transfer", error);
        *t = (transfer_of){(int)dataset, (uint64_t)n, numbers};
        uint64_t each = 2 * (uint64_t)s->datasets[dataset].ndims;
        if (__builtin_mul_overflow(s->processes, t->parts * each, &more) || more > MAX_BYTES / 8)
            return damaged(s, "too many transfers", error);
        numbers += more;
        if (numbers * sizeof numbers > s->bytes) return damaged(s, "truncated", error);
        if (t->parts > s->most) s->most = t->parts;
        if (check_parts(s, t, error)) return -1;
    }
    return numbers * sizeof numbers == s->bytes ? 0 : damaged(s, "more data than its header gives", error);
}

static int read_file(extents *s, io_error *error) {
    const char *format;
    json_int_t processes;
    json_t *datasets, *transfers;
    uint64_t sum = 0;
    if (map_file(s, error)) return -1;
    if (json_unpack(s->header, "{s:s,s:s,s:s,s:I,s:o,s:o}", "format", &format, "source", &s->source,
                    "recorder", &s->recorder, "processes", &processes, "datasets", &datasets, "transfers",
                    &transfers) ||
        strcmp(format, EXTENTS_FORMAT) || processes <= 0)
        return damaged(s, "its header does not match " EXTENTS_FORMAT "", error);
    s->processes = (uint64_t)processes;
    s->ndatasets = json_array_size(datasets);
    s->ntransfers = json_array_size(transfers);
    if (!s->ndatasets || s->ndatasets > MAX_DATASETS || !s->ntransfers)
        return damaged(s, "no arrays, or more than 65536", error);
    if (make_room(s, error)) return -1;
    for (uint64_t i = 0; i < s->ndatasets; i++)
        if (parse_dataset(s, json_array_get(datasets, i), i, &sum, error)) return -1;
    return parse_transfers(s, transfers, error);
}

/* Built-in data for any number of processes: two transfers, with four numbers per process. */
static int make_transfers(extents *s, const char *source, uint64_t datasets, io_error *error) {
    s->source = source, s->recorder = "none";
    s->ndatasets = datasets;
    s->ntransfers = 2;
    if (s->processes <= UINT32_MAX) s->made = calloc(2 * 4 * s->processes, sizeof *s->made);
    if (!s->made) return io_fail(error, "out of memory for parts of %" PRIu64 " processes", s->processes);
    return make_room(s, error);
}

/* Columns of a plane, and interleaved bytes. */
static int make_small(extents *s, io_error *error) {
    enum { ROWS = 5, COLUMNS = 3, EACH = 2, PIECE = 7 };
    const uint64_t n = s->processes;
    if (make_transfers(s, "built-in", 2, error)) return -1;
    s->datasets[0] = (io_dataset){
        .name = "plane", .type = IO_FLOAT64, .ndims = 2, .dim = {0, 1}
    };
    s->datasets[1] = (io_dataset){.name = "bytes", .type = IO_BYTE, .ndims = 1, .dim = {2}};
    s->dims[0] = (io_dim){"row", ROWS};
    s->dims[1] = (io_dim){"column", COLUMNS * n};
    s->dims[2] = (io_dim){"byte", EACH * PIECE * n};
    s->ndims = 3;
    s->transfers[0] = (transfer_of){0, 1, 0};
    s->transfers[1] = (transfer_of){1, EACH, 4 * n};
    s->most = EACH;
    for (uint64_t p = 0; p < n; p++) {
        const uint64_t box[] = {0, COLUMNS * p, ROWS, COLUMNS};
        const uint64_t runs[] = {PIECE * p, PIECE, PIECE * (n + p), PIECE};
        memcpy(s->made + 4 * p, box, sizeof box);
        memcpy(s->made + 4 * (n + p), runs, sizeof runs);
    }
    return check_parts(s, &s->transfers[0], error) || check_parts(s, &s->transfers[1], error) ? -1 : 0;
}

/* Programs write one member of their particles after another like this: a call's data is interleaved with
 * other calls' data, which a library that writes back more than it was given must preserve. Each process has
 * a block of the rows. */
static int make_columns(extents *s, io_error *error) {
    const uint64_t n = s->processes, rows = s->columns[0], *widths = s->columns + 1;
    uint64_t sum, all;
    if (__builtin_add_overflow(widths[0], widths[1], &sum) || __builtin_mul_overflow(sum, rows, &all) ||
        all > MAX_BYTES)
        return io_fail_usage(error, "%s: expected at most 2^62 bytes", s->text);
    if (make_transfers(s, s->text, 1, error)) return -1;
    s->datasets[0] = (io_dataset){
        .name = "rows", .type = IO_BYTE, .ndims = 2, .dim = {0, 1}
    };
    s->dims[0] = (io_dim){"row", rows};
    s->dims[1] = (io_dim){"byte", sum};
    s->ndims = 2;
    s->most = 1;
    for (uint64_t call = 0; call < 2; call++) {
        s->transfers[call] = (transfer_of){0, 1, call * 4 * n};
        for (uint64_t p = 0; p < n; p++) {
            uint64_t *box = s->made + 4 * (call * n + p);
            io_split(rows, n, p, &box[0], &box[2]);
            box[1] = call ? widths[0] : 0;
            box[3] = box[2] ? widths[call] : 0;
        }
        if (check_parts(s, &s->transfers[call], error)) return -1;
    }
    return 0;
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    extents *s = state;
    s->processes = setup->processes;
    if (s->path && s->columns[0])
        return io_fail_usage(error, "--extents and --columns are mutually exclusive");
    if (s->columns[0]) return make_columns(s, error);
    if (!s->path) return make_small(s, error);
    if (read_file(s, error)) return -1;
    if (s->processes == setup->processes) return 0;
    return io_fail_usage(error,
                         "the log has %" PRIu64 " processes, this run has %" PRIu64 "; use the same number",
                         s->processes, setup->processes);
}

static void release(void *state) {
    extents *s = state;
    json_decref(s->header);
    if (s->map) munmap(s->map, s->mapped);
    free(s->names);
    free(s->dims);
    free(s->datasets);
    free(s->transfers);
    free(s->made);
}

static uint64_t transfers(const void *state) { return ((const extents *)state)->ntransfers; }

static int most_parts(const void *state) { return (int)((const extents *)state)->most; }

/* The parts of a transfer, starting `offset` bytes into the owner's data; returns their size in bytes. */
static uint64_t parts_of_transfer(const extents *s, uint64_t owner, const transfer_of *t, uint64_t offset,
                                  io_part *out) {
    const io_dataset *d = &s->datasets[t->dataset];
    const uint64_t n = (uint64_t)d->ndims, began = offset;
    uint64_t at = t->first + owner * t->parts * 2 * n;
    for (uint64_t i = 0; i < t->parts; i++, at += 2 * n) {
        io_part part = {.dataset = t->dataset, .offset = offset};
        uint64_t bytes = io_type_size(d->type);
        for (uint64_t k = 0; k < n; k++) {
            part.start[k] = number(s, at + k);
            part.count[k] = number(s, at + n + k);
            bytes *= part.count[k];
        }
        if (out) out[i] = part;
        offset += bytes;
    }
    return offset - began;
}

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const extents *s = state;
    uint64_t before = 0;
    for (uint64_t t = 0; t < transfer; t++) before += parts_of_transfer(s, owner, &s->transfers[t], 0, NULL);
    parts_of_transfer(s, owner, &s->transfers[transfer], before, out);
    return (int)s->transfers[transfer].parts;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    const extents *s = state;
    uint64_t sum = 0;
    for (uint64_t t = 0; t < s->ntransfers; t++)
        sum += parts_of_transfer(s, owner, &s->transfers[t], 0, NULL);
    return sum;
}

static json_t *describe(const void *state) {
    const extents *s = state;
    uint64_t sum = 0;
    for (uint64_t p = 0; p < s->processes; p++) sum += bytes(s, p);
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I}", "extents", s->path ? s->path : "built-in", "source",
                     s->source, "recorder", s->recorder, "processes", (json_int_t)s->processes, "arrays",
                     (json_int_t)s->ndatasets, "bytes_written", (json_int_t)sum);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const extents *s = state;
    (void)step;
    *out = (io_schema){
        .ndims = s->ndims, .dims = s->dims, .ndatasets = (int)s->ndatasets, .datasets = s->datasets};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    (void)state;
    snprintf(name, size, "extents.%05llu%s", (unsigned long long)step + 1, extension);
}

const io_pattern io_pattern_extents = {
    .name = "extents",
    .summary = "arrays written by a traced program, from iogauge replay plan --what-if",
    .options = options,
    .state_size = sizeof(extents),
    .unaligned = true,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .release = release,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
    .most_parts = most_parts,
};
