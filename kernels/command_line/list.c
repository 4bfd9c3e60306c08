/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/list.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "command_line/configure.h"
#include "command_line/options.h"
#include "method_roles.h"
#include "methods/registry.h"
#include "patterns/registry.h"
#include "report/json_file.h"
#include "report/libraries.h"

static json_t *names_of(unsigned bits) {
    json_t *modes = json_array();
    for (int i = 0; i < IO_MODES; i++)
        if (bits >> i & 1) json_array_append_new(modes, json_string(io_mode_name((io_mode)i)));
    return modes;
}

/* The modes missing in this build, and why. */
static json_t *lacking_of(const io_method *m) {
    json_t *lacking = json_object();
    for (int i = 0; m && i < IO_MODES; i++)
        if (m->lacks[i]) json_object_set_new(lacking, io_mode_name((io_mode)i), json_string(m->lacks[i]));
    return lacking;
}

/* Does this method support this pattern, with default options and mode? If not, why. */
static bool can_be(const io_pattern *pattern, const io_method *method, io_error *why) {
    io_run run = io_run_defaults();
    run.what.pattern = pattern;
    run.what.common.method = method->name;
    run.what.state = calloc(1, pattern->state_size);
    run.plan = true;
    if (!run.what.state)
        io_fail(why, "out of memory for pattern %s", pattern->name);
    else {
        pattern->defaults(run.what.state);
        io_configure(&run, 2, why);
    }
    io_options_release(&run);
    return !why->set;
}

/* Every pair of a pattern and a method of this build. */
static json_t *cross_json(void) {
    json_t *cross = json_array();
    int npatterns, nmethods;
    const io_pattern *const *patterns = io_patterns(&npatterns);
    const io_method_entry *methods = io_methods(&nmethods);
    for (int i = 0; i < npatterns; i++)
        for (int j = 0; j < nmethods; j++) {
            io_error why = {0};
            if (!methods[j].method) continue;
            bool ok = can_be(patterns[i], methods[j].method, &why);
            json_array_append_new(cross,
                                  json_pack("{s:s,s:s,s:b,s:s?}", "pattern", patterns[i]->name, "method",
                                            methods[j].name, "ok", ok, "reason", ok ? NULL : why.text));
        }
    return cross;
}

static json_t *options_of(const io_method *m) {
    json_t *options = json_array();
    for (const io_option *o = m && m->options ? m->options->list : NULL; o && o->letter; o++)
        json_array_append_new(options, json_string(o->name));
    return options;
}

static json_t *modes_json(void) {
    json_t *modes = json_array();
    for (int i = 0; i < IO_MODES; i++) {
        io_mode mode = (io_mode)i;
        const char *as = io_mode_moves_as(mode);
        json_array_append_new(modes, json_pack("{s:s,s:s,s:s?,s:b,s:b}", "name", io_mode_name(mode),
                                               "summary", io_mode_summary(mode), "moves_as", *as ? as : NULL,
                                               "one_process", io_mode_has(mode, IO_ONE_PROCESS), "compresses",
                                               io_mode_has(mode, IO_COMPRESSES)));
    }
    return modes;
}

static json_t *list_json(void) {
    json_t *methods = json_array(), *patterns = json_array();
    int n;
    const io_method_entry *entries = io_methods(&n);
    for (int i = 0; i < n; i++) {
        const io_method *m = entries[i].method;
        char reason[128];
        snprintf(reason, sizeof reason, "built without %s", entries[i].library ? entries[i].library : "it");
        json_array_append_new(
            methods, json_pack("{s:s,s:b,s:s,s:o,s:o,s:s?,s:s?,s:o,s:b,s:b,s:b,s:s?}", "name",
                               entries[i].name, "available", m != NULL, "summary", m ? m->summary : "",
                               "modes", names_of(m ? m->modes : 0), "lacking_modes", lacking_of(m),
                               "default_mode", m && m->modes ? io_mode_name(m->default_mode) : NULL,
                               "moves_as", m ? m->moves_as : NULL, "options", options_of(m), "writes_alone",
                               io_method_writes_independently(m), "file_per_process",
                               m && m->traits & IO_FILE_PER_PROCESS, "moves_nothing",
                               m && m->traits & IO_MOVES_NOTHING, "reason", m ? NULL : reason));
    }
    const io_pattern *const *all = io_patterns(&n);
    for (int i = 0; i < n; i++)
        json_array_append_new(patterns,
                              json_pack("{s:s,s:s}", "name", all[i]->name, "summary", all[i]->summary));
    return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "schema", "iogauge.list/1", "libraries", io_libraries(),
                     "patterns", patterns, "methods", methods, "modes", modes_json(), "cross", cross_json());
}

static void print_list(const json_t *list) {
    size_t i, j;
    const char *name;
    json_t *entry, *mode, *lacks;
    printf("patterns\n");
    json_array_foreach(json_object_get(list, "patterns"), i, entry)
        printf("  %-14s %s\n", json_string_value(json_object_get(entry, "name")),
               json_string_value(json_object_get(entry, "summary")));
    printf("methods\n");
    json_array_foreach(json_object_get(list, "methods"), i, entry) {
        bool there = json_is_true(json_object_get(entry, "available"));
        printf("  %-14s %s", json_string_value(json_object_get(entry, "name")),
               json_string_value(json_object_get(entry, there ? "summary" : "reason")));
        json_array_foreach(json_object_get(entry, "modes"), j, mode)
            printf("%s%s", j ? ", " : "; modes: ", json_string_value(mode));
        json_object_foreach(json_object_get(entry, "lacking_modes"), name, lacks)
            printf("; not %s: this build lacks %s", name, json_string_value(lacks));
        putchar('\n');
    }
}

int io_list(const io_run *run, io_error *error) {
    json_t *list = list_json();
    int status = 0;
    if (run->json)
        status = io_write_json(list, run->json, error);
    else
        print_list(list);
    json_decref(list);
    return status;
}
