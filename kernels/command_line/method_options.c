/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/method_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "method_roles.h"
#include "methods/registry.h"

static const io_option *list_of(const io_method *method) {
    return method && method->options ? method->options->list : NULL;
}

static const io_option *find(const io_method *method, const char *name) {
    for (const io_option *o = list_of(method); o && o->letter; o++)
        if (!strcmp(o->name, name)) return o;
    return NULL;
}

static bool listed(const struct option *longs, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(longs[i].name, name)) return true;
    return false;
}

void io_method_options_add(struct option *longs, int *n, int most) {
    int methods, first = *n;
    const io_method_entry *all = io_methods(&methods);
    for (int i = 0; i < methods; i++)
        for (const io_option *o = list_of(all[i].method); o && o->letter; o++)
            if (*n < most - 1 && !listed(longs, *n, o->name)) {
                longs[*n] = (struct option){o->name, o->value ? required_argument : no_argument, NULL,
                                            IO_METHOD_LETTER + *n - first};
                ++*n;
            }
}

int io_method_options_keep(io_run *run, const char *name, const char *value, io_error *error) {
    io_chosen *more = realloc(run->chosen, (size_t)(run->nchosen + 1) * sizeof *more);
    if (!more) return io_fail(error, "out of memory for option --%s", name);
    run->chosen = more;
    run->chosen[run->nchosen++] = (io_chosen){name, value};
    return 0;
}

static int not_its_own(const io_run *run, const char *name, io_error *error) {
    char owners[128] = "";
    int n;
    const io_method_entry *all = io_methods(&n);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(owners);
        if (find(all[i].method, name))
            snprintf(owners + used, sizeof owners - used, "%s%s", used ? ", " : "", all[i].name);
    }
    return io_fail_usage(error, "--%s is an option of method %s, but the method is %s; omit it", name, owners,
                         run->what.method ? run->what.method->name : "not given");
}

int io_method_configure(io_run *run, uint64_t processes, io_error *error) {
    const io_method *m = run->what.method;
    const io_option_functions *own = m ? m->options : NULL;
    if (own) {
        run->own = *m;
        if (io_method_state(m, &run->what.method_state, error)) return -1;
    }
    for (int i = 0; i < run->nchosen; i++) {
        const io_option *o = find(m, run->chosen[i].name);
        if (!o) return not_its_own(run, run->chosen[i].name, error);
        if (own->option(run->what.method_state, o->letter, run->chosen[i].value, error)) return -1;
    }
    if (!own) return 0;
    if (own->configure(run->what.method_state, processes, io_method_find, &run->own, error)) return -1;
    run->what.method = &run->own;
    return 0;
}

void io_method_options_release(io_run *run) {
    const io_option_functions *own = run->own.options;
    if (run->what.method_state && own->release) own->release(run->what.method_state);
    free(run->what.method_state);
    free(run->chosen);
}
