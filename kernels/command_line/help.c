/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/help.h"

#include <stdio.h>

#include "command_line/options.h"
#include "method_roles.h"
#include "methods/registry.h"
#include "patterns/registry.h"

static void print_options(const io_option *o) {
    for (; o && o->letter; o++) {
        char left[64];
        if (o->name)
            snprintf(left, sizeof left, "--%s %s", o->name, o->value ? o->value : "");
        else
            snprintf(left, sizeof left, "-%c %s", o->letter, o->value ? o->value : "");
        printf("  %-26s %s\n", left, o->help);
    }
}

void io_print_help(const io_run *run) {
    int n;
    const io_pattern *const *patterns = io_patterns(&n);
    printf("Usage: iokernel PATTERN [pattern options] --method M --dir D [options]\n\nPatterns:\n");
    for (int i = 0; i < n; i++)
        if (!run->what.pattern || run->what.pattern == patterns[i]) {
            printf("%s: %s\n", patterns[i]->name, patterns[i]->summary);
            /* Consecutive patterns with the same options share one list. */
            bool again = !run->what.pattern && i + 1 < n && patterns[i + 1]->options == patterns[i]->options;
            if (!again) print_options(patterns[i]->options);
        }
    const io_method_entry *methods = io_methods(&n);
    for (int i = 0; i < n; i++)
        if (methods[i].method && methods[i].method->options) {
            printf("\nOptions of method %s:\n", methods[i].name);
            print_options(methods[i].method->options->list);
        }
    printf("\nOptions:\n");
    print_options(io_common_options);
    printf("\nExit status: 0 success, everything verified; 1 the run failed or a byte was wrong; 2 usage "
           "error.\n");
}
