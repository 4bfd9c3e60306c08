/* SPDX-License-Identifier: BSD-3-Clause */
/* The filters of mode filtered: those in --hint hdf5_filter, else the data set's own, else deflate. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/hdf5_file.h"

#define HINT "hdf5_filter"

/* Hints for the level of a filter. */
static const struct {
    const char *key;
    io_filter filter;
} levels[] = {
    {"hdf5_deflate_level", IO_DEFLATE},
    {"hdf5_szip_pixels",   IO_SZIP   },
    {"hdf5_zstd_level",    IO_ZSTD   },
};
#define LEVELS (sizeof levels / sizeof *levels)

bool io_hdf5_is_filter_hint(const char *key) {
    for (size_t i = 0; i < LEVELS; i++)
        if (!strcmp(key, levels[i].key)) return true;
    return !strcmp(key, HINT);
}

/* Comma-separated names, checked by known_hints.def. */
static void parse(const char *names, io_filters *filters) {
    for (; *names; names += *names == ',') {
        size_t n = strcspn(names, ",");
        io_filters_add(filters, names, n, 0);
        names += n;
    }
}

static bool wishes(const io_schema *schema) {
    for (int i = 0; i < schema->ndatasets; i++)
        if (schema->datasets[i].filters.bits) return true;
    return false;
}

/* The filters of a data set. Small ones are moved by independent calls, which do not support filters. */
static io_filters filters_of(const io_schema *schema, const io_dataset *d, const io_hints *hints) {
    io_filters found = {0};
    const char *named = io_hint_value(hints, HINT);
    if (d->small || io_is_scalar(schema, d)) return found;
    if (named)
        parse(named, &found);
    else if (wishes(schema))
        found = d->filters;
    else
        parse("deflate", &found);
    if (d->nmembers) found.bits &= ~(1u << IO_SZIP); /* szip is for numbers */
    for (size_t i = 0; i < LEVELS; i++) {
        const char *level = io_hint_value(hints, levels[i].key);
        if (level) found.level[levels[i].filter] = (int)strtol(level, NULL, 10);
    }
    return found;
}

static bool can_encode(const io_filter_facts *facts) {
    unsigned config = 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* for the search for plugins, too */
    return H5Zfilter_avail((H5Z_filter_t)facts->number) > 0 &&
           H5Zget_filter_info((H5Z_filter_t)facts->number, &config) >= 0 &&
           config & H5Z_FILTER_CONFIG_ENCODE_ENABLED;
}

static int check_there(unsigned bits, const char *whose, io_error *error) {
    for (int i = 0; i < IO_FILTERS; i++) {
        const io_filter_facts *facts = io_filter_of((io_filter)i);
        if (!(bits >> i & 1) || can_encode(facts)) continue;
        return io_fail_usage(
            error,
            "%s: filter %s is not available in this HDF5%s; use another one, such as --hint " HINT "=deflate",
            whose, facts->name, facts->number < 256 ? "" : " (no plugin for it in HDF5_PLUGIN_PATH)");
    }
    return 0;
}

int io_hdf5_check_filter_hint(const io_hint *hint, io_mode mode, io_error *error) {
    if (!io_mode_has(mode, IO_COMPRESSES))
        return io_fail_usage(error, "--hint %s: mode %s has no filters; use --mode %s, or omit the hint",
                             hint->key, io_mode_name(mode), io_mode_name(IO_FILTERED));
    if (!strcmp(hint->key, "hdf5_szip_pixels") && strtol(hint->value, NULL, 10) % 2)
        return io_fail_usage(error, "--hint %s=%s: expected an even number", hint->key, hint->value);
    if (strcmp(hint->key, HINT)) return 0;
    if (*hint->value == '^')
        return io_fail_usage(error,
                             "--hint %s=%s: expected the filters to apply, such as "
                             "shuffle,deflate",
                             hint->key, hint->value);
    io_filters named = {0};
    parse(hint->value, &named);
    return check_there(named.bits, "--hint " HINT, error);
}

int io_hdf5_check_schema(const io_schema *schema, const io_choice *choice, io_error *error) {
    char whose[256];
    if (!io_mode_has(choice->mode, IO_COMPRESSES)) return 0;
    for (int i = 0; i < schema->ndatasets; i++) {
        const io_dataset *d = &schema->datasets[i];
        snprintf(whose, sizeof whose, "data set %s", d->name);
        if (check_there(filters_of(schema, d, choice->hints).bits, whose, error)) return -1;
    }
    return 0;
}

bool io_hdf5_has_filters(const io_ctx *ctx, const io_schema *schema, const io_dataset *d) {
    return io_mode_has(ctx->mode, IO_COMPRESSES) && filters_of(schema, d, ctx->hints).bits;
}

/* Optional filters: HDF5 stores a chunk unfiltered if it does not become smaller. */
int io_hdf5_set_filters(hid_t create, const io_ctx *ctx, const io_schema *schema, const io_dataset *d,
                        const hsize_t *chunk) {
    if (!io_hdf5_has_filters(ctx, schema, d)) return 0;
    io_filters f = filters_of(schema, d, ctx->hints);
    hsize_t elements = 1;
    for (int i = 0; i < io_rank(d); i++) elements *= chunk[i];
    if (elements < (hsize_t)f.level[IO_SZIP])
        f.bits &= ~(1u << IO_SZIP); /* HDF5 rejects chunks smaller than a block */
    for (int i = 0; i < IO_FILTERS; i++) {
        const io_filter_facts *facts = io_filter_of((io_filter)i);
        unsigned values[2] = {(unsigned)f.level[i], 0};
        if (!(f.bits >> i & 1)) continue;
        herr_t code = i == IO_SZIP         ? H5Pset_szip(create, H5_SZIP_NN_OPTION_MASK, values[0])
                      : i == IO_FLETCHER32 ? H5Pset_fletcher32(create)
                                           : H5Pset_filter(create, (H5Z_filter_t)facts->number,
                                                           H5Z_FLAG_OPTIONAL, facts->most ? 1 : 0, values);
        if (code < 0) return -1;
    }
    return 0;
}

uint64_t io_hdf5_stored(const hid_t *datasets, const io_schema *schema) {
    uint64_t bytes = 0;
    for (int i = 0; i < schema->ndatasets; i++) bytes += H5Dget_storage_size(datasets[i]);
    return bytes;
}
