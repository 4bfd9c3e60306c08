/* SPDX-License-Identifier: BSD-3-Clause */
/* --cut, --procs-grid, and the default without them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/file.h"

static int check_places(const file_schema *s, int dim, const char *option, uint64_t procs, io_error *error) {
    const io_dim *d = &s->dims[dim];
    const file_cut *cut = &s->cuts[dim];
    if (cut->lists && cut->lists != procs)
        return io_fail_usage(
            error, "%s: dimension %s is distributed over %" PRIu64 " processes by its map; use %s=%" PRIu64,
            option, d->name, cut->lists, d->name, cut->lists);
    if (procs <= d->length) return 0;
    return io_fail_usage(error,
                         "%s: dimension %s has %" PRIu64 " points for %" PRIu64
                         " processes; use at most one process per point",
                         option, d->name, d->length, procs);
}

static uint64_t number(const char **at) {
    char *end;
    if (!isdigit((unsigned char)**at)) return 0;
    unsigned long long n = strtoull(*at, &end, 10);
    *at = end;
    return n > INT32_MAX ? 0 : n;
}

static int wrong_cut(const char *text, io_error *error) {
    return io_fail_usage(
        error,
        "--cut %s: expected DIMENSION=PROCESSES or DIMENSION=PROCESSES:cyclic[:POINTS], separated "
        "by commas, such as --cut lat=4,lon=2:cyclic:8",
        text);
}

static int parse_one(file_schema *s, const char *text, const char **at, io_error *error) {
    const char *equals = strchr(*at, '=');
    uint64_t cycle = 0;
    if (!equals) return wrong_cut(text, error);
    int dim = file_schema_dim(s, *at, (size_t)(equals - *at));
    if (dim < 0)
        return io_fail_usage(error, "--cut %s: no dimension %.*s in %s", text, (int)(equals - *at), *at,
                             s->source);
    *at = equals + 1;
    uint64_t procs = number(at);
    if (!strncmp(*at, ":cyclic", 7)) {
        *at += 7;
        cycle = 1;
        if (**at == ':') {
            (*at)++;
            cycle = number(at);
        }
        if (!cycle) return wrong_cut(text, error);
    }
    if (!procs || (**at && **at != ',')) return wrong_cut(text, error);
    if (check_places(s, dim, "--cut", procs, error)) return -1;
    if (s->cuts[dim].given)
        return io_fail_usage(error, "--cut %s: dimension %s is given twice", text, s->dims[dim].name);
    if (cycle && s->cuts[dim].lists)
        return io_fail_usage(error, "--cut %s: dimension %s is distributed by its map; omit :cyclic", text,
                             s->dims[dim].name);
    if (cycle && cycle * procs > s->dims[dim].length && procs > 1)
        return io_fail_usage(error,
                             "--cut %s: dimension %s has %" PRIu64 " points, fewer than one cycle of %" PRIu64
                             " processes with %" PRIu64 " points each; use fewer points per cycle",
                             text, s->dims[dim].name, s->dims[dim].length, procs, cycle);
    s->cuts[dim].procs = procs;
    s->cuts[dim].cycle = cycle;
    s->cuts[dim].given = true;
    return 0;
}

int file_cuts_parse(file_schema *s, const char *text, io_error *error) {
    for (const char *at = text;; at++) {
        if (parse_one(s, text, &at, error)) return -1;
        if (!*at) return 0;
    }
}

/* The first data set of the largest size. */
static const io_dataset *largest_of(const file_schema *s) {
    int largest = 0;
    for (int i = 1; i < s->schema.ndatasets; i++)
        if (io_dataset_bytes(&s->schema, i) > io_dataset_bytes(&s->schema, largest)) largest = i;
    return &s->datasets[largest];
}

int file_cuts_grid(file_schema *s, const char *text, io_error *error) {
    const io_dataset *d = largest_of(s);
    uint64_t grid[IO_MAX_DIMS];
    int n = 0;
    const char *at = text;
    for (; n < IO_MAX_DIMS; at++) {
        grid[n] = number(&at);
        if (!grid[n++] || !*at || *at != 'x') break;
    }
    if (!grid[n - 1] || *at)
        return io_fail_usage(error,
                             "--procs-grid %s: expected at most %d positive integers separated by x, "
                             "such as --procs-grid 4x4x2",
                             text, IO_MAX_DIMS);
    const int rank = io_rank(d);
    if (n > rank || io_is_scalar(&s->schema, d))
        return io_fail_usage(
            error,
            "--procs-grid %s has %d numbers, but the largest variable, %s, has %d dimensions; "
            "give at most one number per dimension",
            text, n, d->name, io_is_scalar(&s->schema, d) ? 0 : rank);
    for (int i = 0; i < n; i++) {
        int dim = d->dim[rank - n + i];
        if (s->cuts[dim].procs > 1 && grid[i] > 1 && !s->cuts[dim].lists)
            return io_fail_usage(error, "--procs-grid %s: %s has dimension %s twice; use --cut %s=N", text,
                                 d->name, s->dims[dim].name, s->dims[dim].name);
        if (check_places(s, dim, "--procs-grid", grid[i], error)) return -1;
        s->cuts[dim].procs = grid[i];
    }
    return 0;
}

void file_cuts_default(file_schema *s, uint64_t processes) {
    const io_dataset *d = largest_of(s);
    uint64_t factors[64];
    int n = 0;
    for (int i = 0; i < s->schema.ndims; i++) {
        uint64_t lists = s->cuts[i].lists;
        s->cuts[i].procs = lists ? lists : 1;
        if (lists && processes % lists == 0) processes /= lists;
    }
    for (uint64_t f = 2; processes > 1; f++) {
        if (f * f > processes) f = processes;
        for (; processes % f == 0; processes /= f) factors[n++] = f;
    }
    while (n--) { /* to the first dimension with the longest blocks */
        int longest = -1;
        for (int i = 0; i < io_rank(d); i++) {
            const file_cut *here = &s->cuts[d->dim[i]];
            if (here->lists) continue;
            const file_cut *there = &s->cuts[d->dim[longest < 0 ? i : longest]];
            uint64_t ours = s->dims[d->dim[i]].length / here->procs;
            if (longest < 0 || ours > s->dims[d->dim[longest]].length / there->procs) longest = i;
        }
        if (longest >= 0) s->cuts[d->dim[longest]].procs *= factors[n];
    }
}
