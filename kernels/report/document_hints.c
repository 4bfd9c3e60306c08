/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/document_hints.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROMIO "ROMIO_HINTS"
#define PNETCDF "PNETCDF_HINTS"

typedef struct {
    json_t *hints, *sources;
} asked_hints;

static void add_hint(asked_hints *to, const char *key, const char *value, const char *variable) {
    json_object_set_new(to->hints, key, json_string(value));
    if (variable)
        json_object_set_new(to->sources, key, json_string(variable));
    else
        json_object_del(to->sources, key);
}

/* Reads a file with lines "KEY VALUE". Like ROMIO, ignores a file that cannot be read. */
static void add_romio_hints(asked_hints *to) {
    const char *path = getenv(ROMIO);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        char *rest = NULL, *key = strtok_r(line, " \t\n", &rest), *value = strtok_r(NULL, " \t\n", &rest);
        if (key && value && *key != '#') add_hint(to, key, value, ROMIO);
    }
    free(line);
    fclose(file);
}

/* K=V;K=V */
static void add_pnetcdf_hints(asked_hints *to) {
    const char *value = getenv(PNETCDF);
    char *text = value ? strdup(value) : NULL, *rest = text, *word;
    while (text && (word = strsep(&rest, ";"))) {
        char *equal = strchr(word, '=');
        if (!equal) continue;
        *equal = '\0';
        add_hint(to, word + strspn(word, " "), equal + 1, PNETCDF);
    }
    free(text);
}

static void take_variable(asked_hints *to, const char *entry) {
    const char *equal = strchr(entry, '='), *key = io_hint_of_variable(entry);
    if (!equal || !key || key > equal) return;
    char *name = strndup(entry, (size_t)(equal - entry));
    if (name) add_hint(to, name + (key - entry), equal + 1, name);
    free(name);
}

json_t *io_asked_hints(const io_hints *given, char *const *environment, json_t *sources) {
    asked_hints all = {json_object(), sources};
    add_romio_hints(&all); /* in ROMIO the program's hints take precedence, in PnetCDF the variable */
    for (; *environment; environment++) take_variable(&all, *environment);
    for (int i = 0; i < given->n; i++) {
        char name[IO_HINT_NAME];
        io_hint_name(&given->items[i], name);
        add_hint(&all, name, given->items[i].value, NULL);
    }
    add_pnetcdf_hints(&all);
    return all.hints;
}

json_t *io_ignored_hints(const json_t *asked, const json_t *sources, const json_t *used) {
    json_t *ignored = json_array(), *value;
    const char *name, *key;
    json_object_foreach((json_t *)(uintptr_t)asked, name, value) {
        /* The hints in effect are the first file's, which is written: hints for reading only are
         * skipped. */
        if (io_hint_direction(name, &key) == IO_HINT_OF_READING) continue;
        const char *source = json_string_value(json_object_get(sources, name));
        bool is_told = !source || !strcmp(source, ROMIO) || !strcmp(source, PNETCDF);
        bool own = io_hint_channel_of(key) == IO_HINT_HDF5; /* HDF5 would have rejected it */
        if (is_told && !own && !json_equal(json_object_get(used, key), value))
            json_array_append_new(ignored, json_string(name));
    }
    return ignored;
}
