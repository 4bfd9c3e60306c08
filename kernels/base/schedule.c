/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/schedule.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_BYTES 8
#define NUMBER 8 /* bytes */
#define TAIL (NUMBER + MAGIC_BYTES)
#define MAX_HEADER ((uint64_t)1 << 28)
#define MAX_FILES 65536
#define MAX_PROCESSES ((uint64_t)1 << 24)
#define MAX_NAME 200
#define MAX_OFFSET ((uint64_t)1 << 62)

static const char *const levels[IO_LEVELS] = {"posix", "mpiio-together", "mpiio-alone"};

static int damaged(const io_schedule *s, const char *what, io_error *error) {
    return io_fail_usage(error, "--schedule: %s; expected a file written by iogauge replay plan: %s", what,
                         s->path);
}

/* Reads numbers from byte `at` on, converted to the byte order of this machine. */
static int read_numbers(const io_schedule *s, uint64_t at, uint64_t *numbers, uint64_t n, io_error *error) {
    char *to = (char *)numbers;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_fail_usage(error, "--schedule: cannot open %s", s->path);
    for (uint64_t left = n * NUMBER; left;) {
        ssize_t some = pread(fd, to, left < (1u << 30) ? left : 1u << 30, (off_t)at);
        if (some <= 0) {
            close(fd);
            return damaged(s, "truncated", error);
        }
        to += some, at += (uint64_t)some, left -= (uint64_t)some;
    }
    close(fd);
    for (uint64_t i = 0; i < n; i++) numbers[i] = le64toh(numbers[i]);
    return 0;
}

/* Reads the JSON object at the end; sets `data` to the number of bytes before it. */
static json_t *read_header(const io_schedule *s, uint64_t *data, io_error *error) {
    char magic[MAGIC_BYTES], tail[TAIL], *text = NULL;
    uint64_t length = 0;
    struct stat st;
    json_t *header = NULL;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        io_fail_usage(error, "--schedule: cannot open %s", s->path);
        goto out;
    }
    uint64_t size = (uint64_t)st.st_size;
    if (!S_ISREG(st.st_mode) || size < MAGIC_BYTES + TAIL ||
        pread(fd, magic, MAGIC_BYTES, 0) != MAGIC_BYTES || memcmp(magic, SCHEDULE_MAGIC, MAGIC_BYTES)) {
        damaged(s, "not a schedule (perhaps a trace)", error);
        goto out;
    }
    bool complete = pread(fd, tail, TAIL, (off_t)(size - TAIL)) == TAIL;
    memcpy(&length, tail, NUMBER);
    length = le64toh(length);
    if (!complete || memcmp(tail + NUMBER, SCHEDULE_END, MAGIC_BYTES) || length > MAX_HEADER ||
        length > size - MAGIC_BYTES - TAIL) {
        damaged(s, "truncated", error);
        goto out;
    }
    text = malloc(length + 1);
    *data = size - TAIL - length;
    if (!text || pread(fd, text, length, (off_t)*data) != (ssize_t)length)
        damaged(s, "cannot read its header", error);
    else if (!(header = json_loadb(text, length, 0, NULL)))
        damaged(s, "its header is not JSON", error);
out:
    free(text);
    if (fd >= 0) close(fd);
    return header;
}

/* The name becomes a file in --dir. */
static bool is_plain(const char *name) {
    size_t n = strlen(name);
    return n && n <= MAX_NAME && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static int parse_file(io_schedule *s, json_t *from, io_schedule_file *file, io_error *error) {
    const char *name, *level;
    json_int_t extent;
    int reads, writes, by_library = false; /* missing in older schedules */
    if (json_unpack(from, "{s:s,s:s,s:I,s:b,s:b,s?b}", "name", &name, "level", &level, "extent", &extent,
                    "read", &reads, "written", &writes, "by_library", &by_library))
        return damaged(s, "incomplete entry of a file", error);
    if (!is_plain(name)) return damaged(s, "invalid file name", error);
    if (extent < 0 || (uint64_t)extent > MAX_OFFSET) return damaged(s, "invalid file size", error);
    *file = (io_schedule_file){.extent = (uint64_t)extent,
                               .read = reads,
                               .written = writes,
                               .by_library = by_library,
                               .level = IO_LEVELS};
    for (int i = 0; i < IO_LEVELS; i++)
        if (!strcmp(level, levels[i])) file->level = (io_level)i;
    if (file->level == IO_LEVELS) return damaged(s, "unknown level of a file", error);
    file->name = strdup(name);
    return file->name ? 0 : io_fail(error, "out of memory for the files of a schedule");
}

static int parse_share(io_schedule *s, json_t *from, io_share *share, io_error *error) {
    json_int_t n[5];
    uint64_t *all = &s->all.reads, *mine = &share->reads;
    if (json_unpack(from, "[I,I,I,I,I!]", &n[0], &n[1], &n[2], &n[3], &n[4]))
        return damaged(s, "incomplete entry of a process", error);
    for (int i = 0; i < 5; i++)
        if (n[i] < 0 || (uint64_t)n[i] > MAX_OFFSET) return damaged(s, "invalid totals of a process", error);
    share->first = s->acts;
    share->acts = (uint64_t)n[0];
    for (int i = 0; i < 4; i++) {
        mine[i] = (uint64_t)n[i + 1];
        if (__builtin_add_overflow(all[i], mine[i], &all[i]) || all[i] > MAX_OFFSET)
            return damaged(s, "invalid totals", error);
    }
    return __builtin_add_overflow(s->acts, share->acts, &s->acts) ? damaged(s, "too many operations", error)
                                                                  : 0;
}

static int parse_header(io_schedule *s, json_t *header, uint64_t data, io_error *error) {
    const char *format, *source, *recorder;
    const char *buffer = "whole"; /* missing in older schedules */
    json_t *files, *each;
    json_int_t prepared, undefined;
    int collective;
    if (json_unpack(header, "{s:s,s:s,s:s,s:o,s:o,s:I,s:I,s:b,s?s}", "format", &format, "source", &source,
                    "recorder", &recorder, "files", &files, "each", &each, "prepared", &prepared, "undefined",
                    &undefined, "collective", &collective, "buffer", &buffer) ||
        strcmp(format, SCHEDULE_FORMAT))
        return damaged(s, "its header does not match " SCHEDULE_FORMAT, error);
    s->nfiles = json_array_size(files);
    s->processes = json_array_size(each);
    s->nprepared = (uint64_t)prepared;
    s->nundefined = (uint64_t)undefined;
    s->collective = collective;
    s->reuses = !strcmp(buffer, "reused");
    if (!s->nfiles || s->nfiles > MAX_FILES) return damaged(s, "no files, or more than 65536", error);
    if (!s->processes || s->processes > MAX_PROCESSES) return damaged(s, "too many processes", error);
    s->source = strdup(source);
    s->recorder = strdup(recorder);
    s->files = calloc(s->nfiles, sizeof *s->files);
    s->shares = calloc(s->processes, sizeof *s->shares);
    if (!s->source || !s->recorder || !s->files || !s->shares)
        return io_fail(error, "out of memory for a schedule");
    for (size_t i = 0; i < s->nfiles; i++)
        if (parse_file(s, json_array_get(files, i), &s->files[i], error)) return -1;
    for (size_t i = 0; i < s->processes; i++)
        if (parse_share(s, json_array_get(each, i), &s->shares[i], error)) return -1;
    const uint64_t most = MAX_OFFSET / sizeof(io_act);
    if (s->acts > most || s->nprepared > most || s->nundefined > most ||
        MAGIC_BYTES + s->acts * sizeof(io_act) + (s->nprepared + s->nundefined) * sizeof(io_extent) != data)
        return damaged(s, "its size does not match its header", error);
    return 0;
}

int io_schedule_open(const char *path, io_schedule *s, io_error *error) {
    uint64_t data = 0;
    *s = (io_schedule){0};
    snprintf(s->path, sizeof s->path, "%s", path);
    json_t *header = read_header(s, &data, error);
    int status = header ? parse_header(s, header, data, error) : -1;
    json_decref(header);
    if (status) io_schedule_close(s);
    return status;
}

void io_schedule_close(io_schedule *s) {
    for (uint64_t i = 0; s->files && i < s->nfiles; i++) free(s->files[i].name);
    free(s->files);
    free(s->shares);
    free(s->source);
    free(s->recorder);
    *s = (io_schedule){0};
}

static bool lies_within(const io_act *a, uint64_t extent) {
    __int128 last = (__int128)a->offset + (__int128)a->stride * (__int128)(a->count - 1);
    __int128 low = last < (__int128)a->offset ? last : (__int128)a->offset;
    __int128 high = last < (__int128)a->offset ? (__int128)a->offset : last;
    return a->count && low >= 0 && high + (__int128)a->length <= (__int128)extent;
}

static const char *wrong_act(const io_schedule *s, const io_act *a) {
    if (a->kind >= IO_ACTS) return "operation of unknown kind";
    if (a->kind == IO_ACT_PHASE) return a->length > INT64_MAX ? "pause out of range" : NULL;
    if (a->file >= s->nfiles) return "operation on an unknown file";
    const io_schedule_file *f = &s->files[a->file];
    bool collective = a->kind == IO_ACT_READ_ALL || a->kind == IO_ACT_WRITE_ALL;
    bool moves = collective || a->kind == IO_ACT_READ || a->kind == IO_ACT_WRITE;
    if (collective && f->level != IO_LEVEL_MPI_COLLECTIVE) return "collective call on a file without MPI-IO";
    if (moves && !lies_within(a, f->extent)) return "access outside its file";
    if (moves && f->level != IO_LEVEL_POSIX && a->length > INT32_MAX)
        return "MPI-IO access larger than one call allows";
    return NULL;
}

io_act *io_schedule_acts(const io_schedule *s, uint64_t process, io_error *error) {
    const io_share *share = &s->shares[process];
    if (!share->acts) return NULL;
    io_act *acts = malloc(share->acts * sizeof *acts);
    if (!acts) {
        io_fail(error, "out of memory for %" PRIu64 " operations of a schedule", share->acts);
        return NULL;
    }
    uint64_t sums[4] = {0}, at = MAGIC_BYTES + share->first * sizeof *acts;
    bool bad = read_numbers(s, at, (uint64_t *)acts, share->acts * (sizeof *acts / NUMBER), error) != 0;
    for (uint64_t i = 0; !bad && i < share->acts; i++) {
        const io_act *a = &acts[i];
        const char *wrong = wrong_act(s, a);
        if (wrong) bad = damaged(s, wrong, error) != 0;
        bool reads = a->kind == IO_ACT_READ || a->kind == IO_ACT_READ_ALL;
        bool writes = a->kind == IO_ACT_WRITE || a->kind == IO_ACT_WRITE_ALL;
        if (reads || writes) sums[2 * writes] += a->count, sums[2 * writes + 1] += a->count * a->length;
    }
    if (!bad && memcmp(sums, &share->reads, sizeof sums))
        bad = damaged(s, "totals of a process do not match its accesses", error) != 0;
    if (!bad) return acts;
    free(acts);
    return NULL;
}

io_extent *io_schedule_extents(const io_schedule *s, bool undefined, io_error *error) {
    uint64_t n = undefined ? s->nundefined : s->nprepared;
    uint64_t at = MAGIC_BYTES + s->acts * sizeof(io_act) + (undefined ? s->nprepared * sizeof(io_extent) : 0);
    io_extent *extents = malloc((n + 1) * sizeof *extents);
    if (!extents) {
        io_fail(error, "out of memory for %" PRIu64 " extents of a schedule", n);
        return NULL;
    }
    bool bad = read_numbers(s, at, (uint64_t *)extents, n * (sizeof *extents / NUMBER), error) != 0;
    for (uint64_t i = 0; !bad && i < n; i++) {
        const io_extent *e = &extents[i], *before = i ? e - 1 : NULL;
        if (e->file >= s->nfiles || e->start >= e->end || e->end > s->files[e->file].extent)
            bad = damaged(s, "extent outside its file", error) != 0;
        else if (before && (before->file > e->file || (before->file == e->file && before->end > e->start)))
            bad = damaged(s, "extents out of order", error) != 0;
    }
    if (!bad) return extents;
    free(extents);
    return NULL;
}
