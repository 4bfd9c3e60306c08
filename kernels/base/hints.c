/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints: "K=V", and how each reaches its library. */
#include "base/hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known_hints.h"

/* hints.def; MPI_Info for all others. */
static const struct {
    const char *beginning, *before;
    io_hint_way way;
} prefixes[] = {
#define IO_HINT_PREFIX(beginning, way, before) {beginning, before, IO_HINT_##way},
#include "base/hints.def"
#undef IO_HINT_PREFIX
};

static bool begins(const char *text, const char *beginning) {
    return !strncmp(text, beginning, strlen(beginning));
}

io_hint_way io_hint_way_of(const char *key) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(key, prefixes[i].beginning)) return prefixes[i].way;
    return IO_HINT_MPI_INFO;
}

const char *io_hint_of_variable(const char *variable) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *before = prefixes[i].before;
        if (prefixes[i].way != IO_HINT_ENVIRONMENT || !begins(variable, before)) continue;
        if (begins(variable + strlen(before), prefixes[i].beginning)) return variable + strlen(before);
    }
    return NULL;
}

bool io_openmpi_romio(void) {
    const char *io = getenv("OMPI_MCA_io");
    if (!io || !*io) return false;
    return *io == '^' ? strstr(io, "ompio") != NULL : strstr(io, "romio") != NULL;
}

static const char *const directions[] = {
    [IO_HINT_OF_WRITING] = "write:", [IO_HINT_OF_READING] = "read:", [IO_HINT_OF_BOTH] = ""};

io_hint_of io_hint_direction(const char *name, const char **key) {
    io_hint_of of = IO_HINT_OF_WRITING;
    while (!begins(name, directions[of])) of++;
    *key = name + strlen(directions[of]);
    return of;
}

void io_hint_name(const io_hint *hint, char name[IO_HINT_NAME]) {
    snprintf(name, IO_HINT_NAME, "%s%s", directions[hint->of], hint->key);
}

int io_hints_add(io_hints *hints, const char *given, io_error *error) {
    const char *text;
    io_hint hint = {.of = io_hint_direction(given, &text)};
    const char *equal = strchr(text, '=');
    if (!equal || equal == text || !equal[1])
        return io_fail_usage(
            error, "--hint %s: a hint is written KEY=VALUE, such as --hint romio_cb_write=enable", given);
    size_t key = (size_t)(equal - text), value = strlen(equal + 1);
    if (key >= sizeof hint.key || value >= sizeof hint.value)
        return io_fail_usage(error, "--hint %.40s...: longer than MPI allows (%d characters, value %d)", text,
                             MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL);
    memcpy(hint.key, text, key);
    memcpy(hint.value, equal + 1, value);
    if (io_known_hint_check("--hint", hint.key, hint.value, error)) return -1;
    io_hint_way way = io_hint_way_of(hint.key);
    if (hint.of != IO_HINT_OF_BOTH && way != IO_HINT_MPI_INFO && way != IO_HINT_PNETCDF)
        return io_fail_usage(error, "--hint %s: %s cannot be limited to one direction; use --hint %s", given,
                             hint.key, text);
    io_hint *more = realloc(hints->items, (size_t)(hints->n + 1) * sizeof *more);
    if (!more) return io_fail(error, "out of memory for hint %s", hint.key);
    hints->items = more;
    hints->items[hints->n++] = hint;
    return 0;
}

const char *io_hint_value(const io_hints *hints, const char *key) {
    for (int i = hints->n - 1; i >= 0; i--)
        if (!strcmp(hints->items[i].key, key)) return hints->items[i].value;
    return NULL;
}

int io_hints_info(const io_hints *hints, io_hint_of direction, MPI_Info *info, io_error *error) {
    *info = MPI_INFO_NULL;
    if (!hints->n) return 0;
    int code = MPI_Info_create(info);
    if (code) return io_fail_mpi(error, "MPI_Info_create", "hints", code);
    for (int i = 0; i < hints->n; i++) {
        if (hints->items[i].of != IO_HINT_OF_BOTH && hints->items[i].of != direction) continue;
        if (io_hint_way_of(hints->items[i].key) == IO_HINT_HDF5) continue; /* the method's own */
        code = MPI_Info_set(*info, hints->items[i].key, hints->items[i].value);
        if (code) return io_fail_mpi(error, "MPI_Info_set", hints->items[i].key, code);
    }
    return 0;
}
