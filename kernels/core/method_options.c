/* SPDX-License-Identifier: BSD-3-Clause */
#include "method_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const io_option *find(const io_option *options, const char *name) {
    for (const io_option *o = options; o && o->letter; o++)
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
        for (const io_option *o = all[i].method ? all[i].method->options : NULL; o && o->letter; o++)
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
        if (all[i].method && find(all[i].method->options, name))
            snprintf(owners + used, sizeof owners - used, "%s%s", used ? ", " : "", all[i].name);
    }
    return io_fail_usage(error, "--%s is an option of method %s, and the method is %s; leave it out", name,
                         owners, run->method ? run->method->name : "not given");
}

int io_method_configure(io_run *run, uint64_t processes, io_error *error) {
    const io_method *m = run->method;
    if (m && m->configure) {
        run->own = *m;
        run->method_state = calloc(1, m->state_size);
        if (!run->method_state) return io_fail(error, "out of memory for method %s", m->name);
        m->defaults(run->method_state);
    }
    for (int i = 0; i < run->nchosen; i++) {
        const io_option *o = m ? find(m->options, run->chosen[i].name) : NULL;
        if (!o) return not_its_own(run, run->chosen[i].name, error);
        if (m->option(run->method_state, o->letter, run->chosen[i].value, error)) return -1;
    }
    if (!m || !m->configure) return 0;
    if (m->configure(run->method_state, processes, &run->own, error)) return -1;
    run->method = &run->own;
    return 0;
}

void io_method_options_release(io_run *run) {
    if (run->method_state && run->own.release) run->own.release(run->method_state);
    free(run->method_state);
    free(run->chosen);
}
