/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules with one thing changed: what is at a limit is taken, what is behind it is refused, with the
 * reason. And where the bytes of accesses through file views lie. */
#include "base/schedule.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"

#define TOP ((uint64_t)1 << 62) /* the largest offset */
#define NUMBERS 16
#define NAME200 NAME50 NAME50 NAME50 NAME50
#define NAME50 "0123456789.123456789-123456789_123456789A123456789"

/* Of one process and one file. What is 0 or NULL is as in make(). */
typedef struct {
    const char *says; /* of the refusal; NULL: it is taken */
    const char *name, *level, *extent, *each, *format, *files;
    uint64_t act[6];
    uint64_t before[2][3], undefined[2][3], view[NUMBERS]; /* each list: `n...` of them are in use */
    int nbefore, nundefined, nview;
    const char *begin, *end; /* other marks */
    uint64_t more_header;    /* as if the header were so much longer */
    int more_data;           /* numbers too many */
} change;

static const uint64_t usual[6] = {IO_ACT_WRITE, 0, 8, 8, 16, 2};

static void put(FILE *out, const uint64_t *numbers, int n) {
    for (int i = 0; i < n; i++) {
        uint64_t one = htole64(numbers[i]);
        fwrite(&one, sizeof one, 1, out);
    }
}

/* The totals that the header gives for an act. */
static void totals(char *text, size_t size, const uint64_t *act) {
    io_act_traits is = act[0] < IO_ACTS ? io_act_is[act[0]] : (io_act_traits){0};
    uint64_t n = act[5], bytes = act[5] * act[3];
    snprintf(text, size, "[1,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", is.reads ? n : 0,
             is.reads ? bytes : 0, is.writes ? n : 0, is.writes ? bytes : 0);
}

static void write_schedule(const char *path, const change *c) {
    static const uint64_t spare[2] = {0};
    const uint64_t *act = c->act[0] || c->act[5] ? c->act : usual;
    char each[128], file[512], header[2048];
    totals(each, sizeof each, act);
    snprintf(file, sizeof file,
             "{\"name\": \"%s\", \"level\": \"%s\", \"extent\": %s, \"read\": true, \"written\": true}",
             c->name ? c->name : "a.bin", c->level ? c->level : "mpiio-alone",
             c->extent ? c->extent : "4096");
    int length = snprintf(
        header, sizeof header,
        "{\"format\": \"%s\", \"source\": \"s\", \"recorder\": \"r\", \"collective\": false, \"files\": [%s],"
        " \"each\": [%s], \"prepared\": %d, \"undefined\": %d, \"views\": %d}",
        c->format ? c->format : SCHEDULE_FORMAT, c->files ? c->files : file, c->each ? c->each : each,
        c->nbefore, c->nundefined, c->nview);
    const uint64_t said = (uint64_t)length + c->more_header;
    FILE *out = fopen(path, "w");
    if (!out) abort();
    fputs(c->begin ? c->begin : SCHEDULE_MAGIC, out);
    put(out, act, 6);
    put(out, c->before[0], 3 * c->nbefore);
    put(out, c->undefined[0], 3 * c->nundefined);
    put(out, c->view, c->nview);
    put(out, spare, c->more_data);
    fputs(header, out);
    put(out, &said, 1);
    fputs(c->end ? c->end : SCHEDULE_END, out);
    fclose(out);
}

/* Reads all of it. */
static void read_schedule(const char *path, io_error *error) {
    io_schedule s;
    if (io_schedule_open(path, &s, error)) {
        CHECK(!s.files && !s.shares && !s.views, "a refused schedule keeps memory");
        return;
    }
    io_act *acts = io_schedule_acts(&s, 0, error);
    io_extent *before = error->set ? NULL : io_schedule_extents(&s, false, error);
    io_extent *undefined = error->set ? NULL : io_schedule_extents(&s, true, error);
    free(acts);
    free(before);
    free(undefined);
    io_schedule_close(&s);
}

static const change headers[] = {
    {.says = NULL},
    {.format = SCHEDULE_OLDER},
    {"does not match", .format = "iogauge.schedule/3"},
    {"not a schedule", .begin = "IOGTRACE"},
    {"truncated", .end = "IOGS-EN"},
    {"truncated", .more_header = 1000},
    {"not JSON", .more_header = 8, .more_data = 1},
    {"does not match its header", .more_data = 1},
    {.extent = "4611686018427387904"},
    {"invalid file size", .extent = "4611686018427387905"},
    {"invalid file size", .extent = "-1"},
    {"incomplete entry of a file", .extent = "\"4096\""},
    {"incomplete entry of a file", .files = "{\"name\": \"a.bin\"}"},
    {"no files", .files = ""},
    {"too many processes", .each = ""},
    {.level = "mpiio-together"},
    {"unknown level", .level = "hdf5"},
    {.name = NAME200},
    {"invalid file name", .name = NAME200 "x"},
    {"invalid file name", .name = ""},
    {"invalid file name", .name = ".a"},
    {"invalid file name", .name = "a/b"},
    {"invalid file name", .name = "a b"},
    {"incomplete entry of a process", .each = "[1,0,0,2]"},
    {"incomplete entry of a process", .each = "[1,0,0,2,16,0]"},
    {"invalid totals of a process", .each = "[1,0,0,2,-1]"},
    {"invalid totals of a process", .each = "[1,0,0,2,4611686018427387905]"},
    {"totals of a process do not", .each = "[1,0,0,2,4611686018427387904]"},
    {"totals of a process do not", .each = "[1,0,0,2,15]"},
    {"totals of a process do not", .each = "[1,0,0,1,16]"},
    {"totals of a process do not", .each = "[1,1,0,2,16]"},
    {"totals of a process do not", .each = "[1,0,1,2,16]"},
    {"invalid totals;", .each = "[1,0,0,2,4611686018427387904],[0,0,0,0,1]"},
    {"does not match its header", .each = "[2,0,0,2,16]"},
    {"does not match its header", .each = "[0,0,0,0,0]"},
};

/* With a view of every other 8 bytes, 8 to 16 and so on, where `view` is given. */
#define VIEW .view = {0, 16, 1, 8, 8}, .nview = 5
#define SEEN(n) ((uint64_t)(n) << 32)
static const change acts[] = {
    {"unknown kind", .act = {IO_ACTS, 0, 0, 8, 0, 1}},
    {.act = {IO_ACTS - 1, 0, 0, 8, 0, 1}},
    {.act = {IO_ACT_PHASE, 0, 0, INT64_MAX, 0, 0}},
    {"pause out of range", .act = {IO_ACT_PHASE, 0, 0, (uint64_t)INT64_MAX + 1, 0, 0}},
    {"an unknown file", .act = {IO_ACT_WRITE, 1, 0, 8, 0, 1}},
    {.act = {IO_ACT_READ, 0, 4088, 8, 0, 1}},
    {"outside its file", .act = {IO_ACT_READ, 0, 4089, 8, 0, 1}},
    {.act = {IO_ACT_READ, 0, 8, 8, (uint64_t)-8, 2}},
    {"outside its file", .act = {IO_ACT_READ, 0, 7, 8, (uint64_t)-8, 2}},
    {"outside its file", .act = {IO_ACT_READ, 0, 4089, 8, (uint64_t)-8, 2}},
    {.act = {IO_ACT_READ, 0, 4072, 8, 16, 2}},
    {"outside its file", .act = {IO_ACT_READ, 0, 4073, 8, 16, 2}},
    {"outside its file", .act = {IO_ACT_READ, 0, 0, 8, 16, 0}},
    {.act = {IO_ACT_READ, 0, 5000, 0, 0, 1}},
    {.act = {IO_ACT_OPEN, 0, 0, IO_OPEN_READS | IO_OPEN_WRITES, 0, 1}},
    {"unknown way to open", .act = {IO_ACT_OPEN, 0, 0, IO_OPEN_READS + IO_OPEN_WRITES + 1, 0, 1}},
    {.act = {IO_ACT_WRITE, 0, 0, INT32_MAX, 0, 1}, .extent = "4294967296"},
    {"larger than one call", .act = {IO_ACT_WRITE, 0, 0, 2147483648, 0, 1}, .extent = "4294967296"},
    {.act = {IO_ACT_WRITE, 0, 0, 2147483648, 0, 1}, .extent = "4294967296", .level = "posix"},
    {.act = {IO_ACT_SYNC, 0, 0, 0, 0, 1}, .level = "posix"},
    {"without MPI-IO", .act = {IO_ACT_READ_ALL, 0, 0, 8, 0, 1}, .level = "posix"},
    {"without MPI-IO", .act = {IO_ACT_READ_LATER, 0, 0, 8, 0, 1}, .level = "posix"},
    {"without MPI-IO", .act = {IO_ACT_WAIT, 0, 0, 0, 0, 1}, .level = "posix"},
    {"not MPI-IO's", .act = {IO_ACT_VIEW, 0, 0, 0, 0, 1}, .level = "posix"},
    {"a view that it has not", .act = {IO_ACT_VIEW, SEEN(1), 0, 0, 0, 1}},
    {.act = {IO_ACT_VIEW, SEEN(1), 0, 0, 0, 1}, VIEW},
    {"a view that it has not", .act = {IO_ACT_VIEW, SEEN(2), 0, 0, 0, 1}, VIEW},
    {"not MPI-IO's", .act = {IO_ACT_WRITE, SEEN(1), 0, 8, 0, 1}, VIEW, .level = "posix"},
    {.act = {IO_ACT_WRITE, SEEN(1), 2040, 8, 0, 1}, VIEW},
    {"outside its file", .act = {IO_ACT_WRITE, SEEN(1), 2041, 8, 0, 1}, VIEW},
    {"outside its file", .act = {IO_ACT_WRITE, SEEN(1), 2040, 8, 0, 1}, VIEW, .extent = "4095"},
    {"outside its file", .act = {IO_ACT_WRITE, SEEN(1), TOP - 7, 8, 0, 1}, VIEW},
};

static const change lists[] = {
    {.view = {TOP, TOP, 1, TOP - 8, 8}, .nview = 5},
    {"that is impossible", .view = {TOP + 1, 16, 1, 0, 8}, .nview = 5},
    {"that is impossible", .view = {0, TOP + 1, 1, 0, 8}, .nview = 5},
    {"that is impossible", .view = {0, 16, 0, 0, 8}, .nview = 5},
    {"that is impossible", .view = {0, 16, 2, 0, 8}, .nview = 5},
    {"are cut off", .view = {0, 16}, .nview = 2},
    {"are cut off", .view = {0, 16, 1, 0, 8, 0, 16}, .nview = 7},
    {.view = {0, 16, 2, 0, 8, 8, 8}, .nview = 7},
    {"not in order", .view = {0, 16, 2, 0, 8, 7, 8}, .nview = 7},
    {"not in order", .view = {0, 16, 1, 0, 0}, .nview = 5},
    {"not in order", .view = {0, 16, 1, TOP + 1, 8}, .nview = 5},
    {"not in order", .view = {0, 16, 1, 0, TOP + 1}, .nview = 5},
    {.view = {0, 8, 1, 100, 8}, .nview = 5},
    {"overlaps itself", .view = {0, 7, 1, 100, 8}, .nview = 5},
    {.before = {{0, 0, 8}, {0, 8, 4096}}, .nbefore = 2},
    {"extent outside its file", .before = {{0, 0, 8}, {0, 8, 4097}}, .nbefore = 2},
    {"extent outside its file", .before = {{1, 0, 8}}, .nbefore = 1},
    {"extent outside its file", .before = {{0, 8, 8}}, .nbefore = 1},
    {"out of order", .before = {{0, 0, 9}, {0, 8, 16}}, .nbefore = 2},
    {"out of order", .before = {{0, 8, 16}, {0, 0, 8}}, .nbefore = 2},
    {.before = {{0, 0, 4096}}, .nbefore = 1, .undefined = {{0, 0, 8}, {0, 8, 16}}, .nundefined = 2},
    {"out of order", .before = {{0, 0, 8}}, .nbefore = 1, .undefined = {{0, 8, 16}, {0, 0, 8}},
     .nundefined = 2},
};

static void test_all(const char *path, const change *all, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++) {
        const change *c = &all[i];
        io_error error = {0};
        write_schedule(path, c);
        read_schedule(path, &error);
        if (!c->says) CHECK(!error.set, "%s %zu: %s", what, i, error.text);
        if (!c->says) continue;
        CHECK(error.set && error.usage, "%s %zu is taken; it should say: %s", what, i, c->says);
        CHECK(strstr(error.text, c->says), "%s %zu: %s, instead of: %s", what, i, error.text, c->says);
        CHECK(strstr(error.text, path), "%s %zu does not name the file: %s", what, i, error.text);
    }
}

static void test_contents(const char *path) {
    const change c = {
        .act = {IO_ACT_READ, SEEN(1), 3, 5, 7, 2},
        VIEW,
        .before = {{0, 1, 2}},
        .nbefore = 1,
        .undefined = {{0, 3, 4}},
        .nundefined = 1,
    };
    io_error error = {0};
    io_schedule s;
    write_schedule(path, &c);
    CHECK(!io_schedule_open(path, &s, &error), "%s", error.text);
    io_act *found = io_schedule_acts(&s, 0, &error);
    io_extent *before = io_schedule_extents(&s, false, &error);
    io_extent *undefined = io_schedule_extents(&s, true, &error);
    const io_act right = {IO_ACT_READ, 0, 3, 5, 7, 2, 1};
    CHECK(found && !memcmp(found, &right, sizeof right), "an act is not as it was written");
    CHECK(before->start == 1 && before->end == 2, "%" PRIu64, before->start);
    CHECK(undefined->start == 3 && undefined->end == 4, "%" PRIu64, undefined->start);
    CHECK(s.all.reads == 2 && s.all.bytes_read == 10 && !s.all.writes && !s.all.bytes_written, "sums");
    CHECK(s.processes == 1 && s.nfiles == 1 && s.acts == 1 && s.nviews == 1, "numbers");
    CHECK(!s.collective && !s.reuses && !s.files->by_library, "flags");
    CHECK(s.files->extent == 4096 && s.files->read && s.files->written, "the file");
    free(found);
    free(before);
    free(undefined);
    io_schedule_close(&s);
}

/* Byte by byte: what an access holds lies where a walk over the view's pieces finds it. */
static void test_slices(void) {
    for (int round = 0; round < 200; round++) {
        io_piece pieces[4];
        uint64_t begin[4], at = unit_random(5), n = 1 + unit_random(4);
        io_view views[2] = {{0}};
        io_view *v = &views[1];
        *v = (io_view){.displacement = unit_random(50), .npieces = n, .pieces = pieces, .begin = begin};
        for (uint64_t i = 0; i < n; i++) {
            pieces[i] = (io_piece){at, 1 + unit_random(6)};
            begin[i] = v->size;
            v->size += pieces[i].length;
            at += pieces[i].length + unit_random(3);
        }
        v->extent = at + unit_random(4);
        const io_schedule s = {.views = views, .nviews = 1};
        const io_act act = {.kind = IO_ACT_READ, .length = 1 + unit_random(60), .count = 1, .view = 1};
        uint64_t offset = unit_random(40), seen = offset;
        for (io_slice span = {0}; io_schedule_slice(&s, &act, offset, &span);)
            for (uint64_t k = span.from; k < span.to; k++, seen++) {
                uint64_t rest = seen % v->size, i = 0;
                while (rest >= pieces[i].length) rest -= pieces[i++].length;
                uint64_t place = v->displacement + seen / v->size * v->extent + pieces[i].at + rest;
                CHECK(span.place + (k - span.from) == place, "byte %" PRIu64 " of round %d", k, round);
            }
        CHECK(seen == offset + act.length, "%" PRIu64 " of %" PRIu64 " bytes", seen - offset, act.length);
    }
}

void unit_schedule(void) {
    char path[] = "/tmp/iokernel-schedule-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0, "%s", path);
    close(fd);
    test_all(path, headers, sizeof headers / sizeof *headers, "header");
    test_all(path, acts, sizeof acts / sizeof *acts, "act");
    test_all(path, lists, sizeof lists / sizeof *lists, "list");
    test_contents(path);
    test_slices();
    unlink(path);
}
