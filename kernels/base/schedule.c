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
#define ACT_NUMBERS 6
#define VIEW_NUMBERS 3
#define FILE_BITS 32 /* of an act's file; the others are its view */

static const char *const levels[IO_LEVELS] = {"posix", "mpiio-together", "mpiio-alone"};

const io_act_traits io_act_is[IO_ACTS] = {
    [IO_ACT_READ] = {.reads = true},
    [IO_ACT_WRITE] = {.writes = true},
    [IO_ACT_READ_ALL] = {.reads = true, .collective = true},
    [IO_ACT_WRITE_ALL] = {.writes = true, .collective = true},
    [IO_ACT_READ_LATER] = {.reads = true, .later = true},
    [IO_ACT_WRITE_LATER] = {.writes = true, .later = true},
    [IO_ACT_READ_ALL_LATER] = {.reads = true, .collective = true, .later = true},
    [IO_ACT_WRITE_ALL_LATER] = {.writes = true, .collective = true, .later = true},
    [IO_ACT_READ_SPLIT] = {.reads = true, .collective = true, .later = true},
    [IO_ACT_WRITE_SPLIT] = {.writes = true, .collective = true, .later = true},
    [IO_ACT_READ_ORDERED] = {.reads = true, .collective = true},
    [IO_ACT_WRITE_ORDERED] = {.writes = true, .collective = true},
    [IO_ACT_READ_SHARED] = {.reads = true},
    [IO_ACT_WRITE_SHARED] = {.writes = true},
    [IO_ACT_READ_SHARED_LATER] = {.reads = true, .later = true},
    [IO_ACT_WRITE_SHARED_LATER] = {.writes = true, .later = true},
};

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

/* A view's pieces, checked: in order, and within its extent. */
static int parse_view(io_schedule *s, io_view *v, const uint64_t *from, uint64_t left, io_error *error) {
    *v = (io_view){from[0], from[1], 0, from[2], (const io_piece *)(from + VIEW_NUMBERS), NULL};
    if (v->displacement > MAX_OFFSET || v->extent > MAX_OFFSET || v->npieces > left / 2 || !v->npieces)
        return damaged(s, "a view that is impossible", error);
    v->begin = malloc(v->npieces * sizeof *v->begin);
    if (!v->begin) return io_fail(error, "out of memory for the views of a schedule");
    uint64_t end = 0;
    for (uint64_t i = 0; i < v->npieces; i++) {
        const io_piece *p = &v->pieces[i];
        if (p->at < end || !p->length || p->at > MAX_OFFSET || p->length > MAX_OFFSET)
            return damaged(s, "a view whose pieces are not in order", error);
        v->begin[i] = v->size;
        v->size += p->length;
        end = p->at + p->length;
    }
    return end - v->pieces[0].at > v->extent ? damaged(s, "a view that overlaps itself", error) : 0;
}

static int parse_views(io_schedule *s, uint64_t at, uint64_t numbers, io_error *error) {
    s->view_numbers = malloc(numbers * NUMBER);
    s->views = calloc(numbers / VIEW_NUMBERS + 2, sizeof *s->views); /* one may be unfinished */
    if (!s->view_numbers || !s->views) return io_fail(error, "out of memory for the views of a schedule");
    if (read_numbers(s, at, s->view_numbers, numbers, error)) return -1;
    for (uint64_t i = 0; i < numbers; s->nviews++) {
        if (numbers - i < VIEW_NUMBERS) return damaged(s, "its views are cut off", error);
        const uint64_t *from = s->view_numbers + i;
        io_view *v = &s->views[s->nviews + 1];
        if (parse_view(s, v, from, numbers - i - VIEW_NUMBERS, error)) return -1;
        i += VIEW_NUMBERS + 2 * v->npieces;
    }
    return 0;
}

static uint64_t place_in(const io_view *v, uint64_t offset, uint64_t *length) {
    uint64_t tile = offset / v->size, rest = offset % v->size, low = 0, high = v->npieces;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (v->begin[middle] <= rest)
            low = middle;
        else
            high = middle;
    }
    *length = v->pieces[low].length - (rest - v->begin[low]);
    return v->displacement + tile * v->extent + v->pieces[low].at + (rest - v->begin[low]);
}

bool io_schedule_slice(const io_schedule *s, const io_act *act, uint64_t offset, io_slice *span) {
    uint64_t length = act->length - span->to;
    span->from = span->to;
    if (!length) return false;
    span->place = offset + span->from;
    if (act->view) {
        uint64_t most = 0;
        span->place = place_in(&s->views[act->view], offset + span->from, &most);
        if (most < length) length = most;
    }
    span->to += length;
    return true;
}

static int parse_header(io_schedule *s, json_t *header, uint64_t data, io_error *error) {
    const char *format, *source, *recorder;
    const char *buffer = "whole"; /* missing in older schedules */
    json_t *files, *each;
    json_int_t prepared, undefined, views = 0; /* older schedules have no views */
    int collective;
    if (json_unpack(header, "{s:s,s:s,s:s,s:o,s:o,s:I,s:I,s:b,s?s,s?I}", "format", &format, "source", &source,
                    "recorder", &recorder, "files", &files, "each", &each, "prepared", &prepared, "undefined",
                    &undefined, "collective", &collective, "buffer", &buffer, "views", &views) ||
        (strcmp(format, SCHEDULE_FORMAT) && strcmp(format, SCHEDULE_OLDER)))
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
    const uint64_t most = MAX_OFFSET / sizeof(io_act), numbers = (uint64_t)views;
    if (s->acts > most || s->nprepared > most || s->nundefined > most || numbers > most ||
        MAGIC_BYTES + s->acts * ACT_NUMBERS * NUMBER + (s->nprepared + s->nundefined) * sizeof(io_extent) +
                numbers * NUMBER !=
            data)
        return damaged(s, "its size does not match its header", error);
    return numbers ? parse_views(s, data - numbers * NUMBER, numbers, error) : 0;
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
    for (uint64_t i = 1; s->views && i <= s->nviews + 1; i++) free(s->views[i].begin);
    free(s->views);
    free(s->view_numbers);
    free(s->files);
    free(s->shares);
    free(s->source);
    free(s->recorder);
    *s = (io_schedule){0};
}

/* Does every access of a run lie in its file? */
static bool lies_within(const io_schedule *s, const io_act *a, uint64_t extent) {
    __int128 last = (__int128)a->offset + (__int128)a->stride * (__int128)(a->count - 1);
    __int128 low = last < (__int128)a->offset ? last : (__int128)a->offset;
    __int128 high = last < (__int128)a->offset ? (__int128)a->offset : last;
    high += (__int128)a->length;
    if (!a->count || low < 0) return false;
    if (a->view && high > low) {
        const io_view *v = &s->views[a->view];
        uint64_t rest;
        if (high > (__int128)MAX_OFFSET || high / v->size * v->extent > (__int128)MAX_OFFSET) return false;
        high = (__int128)place_in(v, (uint64_t)high - 1, &rest) + 1;
    }
    return high <= (__int128)extent || !a->length;
}

static const char *wrong_act(const io_schedule *s, const io_act *a) {
    if (a->kind >= IO_ACTS) return "operation of unknown kind";
    if (a->kind == IO_ACT_PHASE) return a->length > INT64_MAX ? "pause out of range" : NULL;
    if (a->file >= s->nfiles) return "operation on an unknown file";
    const io_schedule_file *f = &s->files[a->file];
    if (a->view > s->nviews) return "a view that it has not";
    if ((a->view || a->kind == IO_ACT_VIEW) && f->level == IO_LEVEL_POSIX)
        return "a view of a file that is not MPI-IO's";
    io_act_traits is = io_act_is[a->kind];
    bool moves = is.reads || is.writes;
    if (f->level == IO_LEVEL_POSIX && (is.collective || a->kind > IO_ACT_VIEW))
        return "call of MPI-IO on a file without MPI-IO";
    if (a->kind == IO_ACT_OPEN && a->length > (IO_OPEN_READS | IO_OPEN_WRITES))
        return "an unknown way to open";
    if (moves && !lies_within(s, a, f->extent)) return "access outside its file";
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
    uint64_t sums[4] = {0}, at = MAGIC_BYTES + share->first * ACT_NUMBERS * NUMBER;
    uint64_t *numbers = (uint64_t *)acts;
    bool bad = read_numbers(s, at, numbers, share->acts * ACT_NUMBERS, error) != 0;
    for (uint64_t i = share->acts; !bad && i-- > 0;) {
        const uint64_t *n = numbers + i * ACT_NUMBERS;
        acts[i] = (io_act){n[0],
                           n[1] & (((uint64_t)1 << FILE_BITS) - 1),
                           n[2],
                           n[3],
                           (int64_t)n[4],
                           n[5],
                           n[1] >> FILE_BITS};
    }
    for (uint64_t i = 0; !bad && i < share->acts; i++) {
        const io_act *a = &acts[i];
        const char *wrong = wrong_act(s, a);
        if (wrong) bad = damaged(s, wrong, error) != 0;
        if (wrong) break;
        io_act_traits is = io_act_is[a->kind];
        if (is.reads || is.writes)
            sums[2 * is.writes] += a->count, sums[2 * is.writes + 1] += a->count * a->length;
    }
    if (!bad && memcmp(sums, &share->reads, sizeof sums))
        bad = damaged(s, "totals of a process do not match its accesses", error) != 0;
    if (!bad) return acts;
    free(acts);
    return NULL;
}

io_extent *io_schedule_extents(const io_schedule *s, bool undefined, io_error *error) {
    uint64_t n = undefined ? s->nundefined : s->nprepared;
    uint64_t at =
        MAGIC_BYTES + s->acts * ACT_NUMBERS * NUMBER + (undefined ? s->nprepared * sizeof(io_extent) : 0);
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
