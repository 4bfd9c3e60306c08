/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/filter.h"

#include <string.h>

static const io_filter_facts all[IO_FILTERS] = {
#define IO_FILTER(id, name, number, least, most, usual, summary) [id] = {name, number, least, most, usual},
#include "base/filters.def"
#undef IO_FILTER
};

const io_filter_facts *io_filter_of(io_filter filter) { return &all[filter]; }

bool io_filters_add(io_filters *filters, const char *name, size_t length, int level) {
    for (int i = 0; i < IO_FILTERS; i++) {
        if (strlen(all[i].name) != length || memcmp(all[i].name, name, length)) continue;
        filters->bits |= 1u << i;
        filters->level[i] = level ? level : all[i].usual;
        return !level || (level >= all[i].least && level <= all[i].most);
    }
    return false;
}
