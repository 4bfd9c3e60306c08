/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters of chunked data sets (filters.def). */
#ifndef IOGAUGE_FILTER_H
#define IOGAUGE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
#define IO_FILTER(id, name, number, least, most, usual, summary) id,
#include "base/filters.def"
#undef IO_FILTER
    IO_FILTERS
} io_filter;

typedef struct {
    const char *name;
    unsigned number;
    int least, most, usual;
} io_filter_facts;

/* The filters of a data set: a bit mask of 1 << io_filter, and a level for each. */
typedef struct {
    unsigned bits;
    int level[IO_FILTERS];
} io_filters;

const io_filter_facts *io_filter_of(io_filter filter);
/* Adds a filter by name. Level 0 is the default. False if the name or level is invalid. */
bool io_filters_add(io_filters *filters, const char *name, size_t length, int level);

#endif
