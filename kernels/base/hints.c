/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints (KEY=VALUE), and how each reaches its library. */
#include "base/hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known_hints.h"

/* From hints.def; all others go to MPI_Info. */
static const struct {
    const char *prefix, *before;
    io_hint_channel channel;
} prefixes[] = {
#define IO_HINT_PREFIX(prefix, channel, before) {prefix, before, IO_HINT_##channel},
#include "base/hints.def"
#undef IO_HINT_PREFIX
};

static bool begins(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

io_hint_channel io_hint_channel_of(const char *key) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(key, prefixes[i].prefix)) return prefixes[i].channel;
    return IO_HINT_MPI_INFO;
}

const char *io_hint_of_variable(const char *variable) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *before = prefixes[i].before;
        if (prefixes[i].channel != IO_HINT_ENVIRONMENT || !begins(variable, before)) continue;
        if (begins(variable + strlen(before), prefixes[i].prefix)) return variable + strlen(before);
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
        return io_fail_usage(error, "--hint %s: expected KEY=VALUE, such as --hint romio_cb_write=enable",
                             given);
    size_t key = (size_t)(equal - text), value = strlen(equal + 1);
    if (key >= sizeof hint.key || value >= sizeof hint.value)
        return io_fail_usage(error, "--hint %.40s...: longer than MPI allows (key %d, value %d characters)",
                             text, MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL);
    memcpy(hint.key, text, key);
    memcpy(hint.value, equal + 1, value);
    if (io_known_hint_check("--hint", hint.key, hint.value, error)) return -1;
    io_hint_channel channel = io_hint_channel_of(hint.key);
    if (hint.of != IO_HINT_OF_BOTH && channel != IO_HINT_MPI_INFO && channel != IO_HINT_PNETCDF)
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
        if (io_hint_channel_of(hints->items[i].key) == IO_HINT_HDF5) continue; /* set by the method */
        code = MPI_Info_set(*info, hints->items[i].key, hints->items[i].value);
        if (code) return io_fail_mpi(error, "MPI_Info_set", hints->items[i].key, code);
    }
    return 0;
}
