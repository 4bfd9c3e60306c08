/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/document_hints.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROMIO "ROMIO_HINTS"
#define PNETCDF "PNETCDF_HINTS"

typedef struct {
    json_t *hints, *ways;
} asked_hints;

static void take(asked_hints *to, const char *key, const char *value, const char *variable) {
    json_object_set_new(to->hints, key, json_string(value));
    if (variable)
        json_object_set_new(to->ways, key, json_string(variable));
    else
        json_object_del(to->ways, key);
}

/* Reads a file of lines "KEY VALUE". Like ROMIO, without an error if it cannot be read. */
static void take_romio(asked_hints *to) {
    const char *path = getenv(ROMIO);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        char *rest = NULL, *key = strtok_r(line, " \t\n", &rest), *value = strtok_r(NULL, " \t\n", &rest);
        if (key && value && *key != '#') take(to, key, value, ROMIO);
    }
    free(line);
    fclose(file);
}

/* K=V;K=V */
static void take_pnetcdf(asked_hints *to) {
    const char *value = getenv(PNETCDF);
    char *text = value ? strdup(value) : NULL, *rest = text, *word;
    while (text && (word = strsep(&rest, ";"))) {
        char *equal = strchr(word, '=');
        if (!equal) continue;
        *equal = '\0';
        take(to, word + strspn(word, " "), equal + 1, PNETCDF);
    }
    free(text);
}

static void take_variable(asked_hints *to, const char *entry) {
    const char *equal = strchr(entry, '='), *key = io_hint_of_variable(entry);
    if (!equal || !key || key > equal) return;
    char *name = strndup(entry, (size_t)(equal - entry));
    if (name) take(to, name + (key - entry), equal + 1, name);
    free(name);
}

json_t *io_asked_hints(const io_hints *given, char *const *environment, json_t *ways) {
    asked_hints all = {json_object(), ways};
    take_romio(&all); /* in ROMIO the hints of the program win, in PnetCDF the variable does */
    for (; *environment; environment++) take_variable(&all, *environment);
    for (int i = 0; i < given->n; i++) {
        char name[IO_HINT_NAME];
        io_hint_name(&given->items[i], name);
        take(&all, name, given->items[i].value, NULL);
    }
    take_pnetcdf(&all);
    return all.hints;
}

json_t *io_ignored_hints(const json_t *asked, const json_t *ways, const json_t *used) {
    json_t *ignored = json_array(), *value;
    const char *name, *key;
    json_object_foreach((json_t *)(uintptr_t)asked, name, value) {
        /* The hints in force are from the first file, which is written: hints for reading only are skipped.
         */
        if (io_hint_direction(name, &key) == IO_HINT_OF_READING) continue;
        const char *way = json_string_value(json_object_get(ways, name));
        bool is_told = !way || !strcmp(way, ROMIO) || !strcmp(way, PNETCDF);
        bool own = io_hint_channel_of(key) == IO_HINT_HDF5; /* HDF5 would have refused it */
        if (is_told && !own && !json_equal(json_object_get(used, key), value))
            json_array_append_new(ignored, json_string(name));
    }
    return ignored;
}
