/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made and released many times leaves no memory in use. CTest runs it without malloc's cache of freed
 * blocks, which count as in use. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hints.h"
#include "driver/evidence.h"
#include "driver/latency.h"
#include "patterns/file.h"
#include "patterns/registry.h"
#include "tests/unit.h"

#define BEFORE 20 /* rounds in which caches fill */
#define ROUNDS 200
#define SMALLEST 32 /* bytes of a block with what malloc adds */

/* 0 where the C library does not say it. */
static size_t in_use(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

static void check_released(const char *what, void (*once)(const void *), const void *with) {
    for (int i = 0; i < BEFORE; i++) once(with);
    const size_t before = in_use();
    for (int i = 0; i < ROUNDS; i++) once(with);
    const size_t after = in_use();
    CHECK(after < before + ROUNDS * SMALLEST / 2, "%s: %zu bytes in use, after %d rounds %zu", what, before,
          ROUNDS, after);
}

static void evidence(const void *unused) {
    io_error error = {0};
    io_found found;
    (void)unused;
    io_found_start(&found, 3, &error);
    io_record_size(&found, "a", 1);
    found.offsets = malloc(sizeof *found.offsets);
    io_found_stop(&found);
}

static void latency(const void *unused) {
    io_error error = {0};
    (void)unused;
    io_latency_free(io_latency_new(&error));
}

static void pattern(const void *with) {
    const io_pattern *p = with;
    const io_setup setup = {.processes = 4, .seed = 1, .method = "test"};
    io_error error = {0};
    void *state = calloc(1, p->state_size);
    p->defaults(state);
    p->configure(state, &setup, &error);
    CHECK(!error.set, "%s: %s", p->name, error.text);
    if (p->describe) json_decref(p->describe(state));
    if (p->release) p->release(state);
    free(state);
}

/* A user's file with all that a document can have: lists, a map, attributes, a compound. */
static const char whole[] =
    "{\"format\": \"" FILE_FORMAT "\", \"source\": \"a.nc\","
    " \"dimensions\": [{\"name\": \"x\", \"length\": 4, \"list\": [[[0, 3]], [[3, 1]]]},"
    "                  {\"name\": \"y\", \"length\": 2}, {\"name\": \"z\", \"length\": 3}],"
    " \"maps\": [{\"dimensions\": [\"y\", \"z\"], \"runs\": [[[0, 3]], [[3, 3]]]}],"
    " \"attributes\": [{\"name\": \"a\", \"type\": \"int32\", \"values\": [1, 2]}],"
    " \"variables\": [{\"name\": \"v\", \"type\": \"int16\", \"dimensions\": [\"x\"],"
    "                  \"attributes\": [{\"name\": \"b\", \"type\": \"float64\", \"values\": [0.5]}]},"
    "                 {\"name\": \"c\", \"type\": \"uint8\", \"dimensions\": [\"x\"],"
    "                  \"members\": [{\"name\": \"m\", \"type\": \"int32\", \"shape\": [2]}]},"
    "                 {\"name\": \"w\", \"type\": \"float64\", \"dimensions\": [\"y\", \"z\"]}]}";

static void document(const void *path) {
    io_error error = {0};
    file_schema read;
    file_schema_read(path, &read, &error);
    CHECK(!error.set, "%s", error.text);
    file_schema_release(&read);
}

/* The same, cut short: it is refused in the middle. */
static void refused(const void *path) {
    io_error error = {0};
    file_schema read;
    CHECK(file_schema_read(path, &read, &error) == -1 && error.set, "a wrong document is taken");
    file_schema_release(&read);
}

static void write_text(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    CHECK(out && fputs(text, out) >= 0 && !fclose(out), "%s cannot be written", path);
}

static void test_documents(void) {
    char path[] = "/tmp/iokernel-unit-XXXXXX", other[sizeof whole];
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && !close(fd), "no file in /tmp");
    write_text(path, whole);
    check_released("a document", document, path);
    memcpy(other, whole, sizeof whole);
    *strstr(other, "w\", \"type") = 'v';
    write_text(path, other);
    check_released("a document with two variables of one name", refused, path);
    unlink(path);
}

void unit_memory(void) {
    int n;
    const io_pattern *const *all = io_patterns(&n);
    check_released("evidence", evidence, NULL);
    check_released("latency", latency, NULL);
    for (int i = 0; i < n; i++)
        if (!all[i]->schedule) check_released(all[i]->name, pattern, all[i]);
    test_documents();
}
