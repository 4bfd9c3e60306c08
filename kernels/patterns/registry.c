/* SPDX-License-Identifier: BSD-3-Clause */
#include "patterns/registry.h"

#include <string.h>

#define IO_PATTERN(id) extern const io_pattern io_pattern_##id;
#include "patterns/patterns.def"
#undef IO_PATTERN

#define IO_PATTERN(id) &io_pattern_##id,
static const io_pattern *const patterns[] = {
#include "patterns/patterns.def"
};

const io_pattern *const *io_patterns(int *n) {
    *n = (int)(sizeof patterns / sizeof *patterns);
    return patterns;
}

const io_pattern *io_pattern_find(const char *name) {
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (!strcmp(patterns[i]->name, name)) return patterns[i];
    return NULL;
}

int io_most_parts(const io_pattern *pattern, const void *state) {
    return pattern->max_parts ? pattern->max_parts : pattern->most_parts(state);
}
