/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/file.h"

/* ---------------------------------------------------------------- which points */

uint64_t file_cut_runs(const file_cut *cut, uint64_t length, uint64_t at) {
    if (cut->lists) return cut->first[at + 1] - cut->first[at];
    if (!cut->cycle) return 1;
    uint64_t runs = (length + cut->cycle - 1) / cut->cycle; /* of all places */
    return runs > at ? (runs - at - 1) / cut->procs + 1 : 0;
}

void file_cut_run(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i, uint64_t *start,
                  uint64_t *n) {
    if (cut->lists) {
        *start = cut->start[cut->first[at] + i];
        *n = cut->n[cut->first[at] + i];
    } else if (cut->cycle) {
        *start = (at + i * cut->procs) * cut->cycle;
        *n = length - *start < cut->cycle ? length - *start : cut->cycle;
    } else
        io_split(length, cut->procs, at, start, n);
}

uint64_t file_cut_points(const file_cut *cut, uint64_t length, uint64_t at) {
    if (cut->lists) return cut->points[at];
    uint64_t start, n, runs = file_cut_runs(cut, length, at);
    if (!runs) return 0;
    file_cut_run(cut, length, at, runs - 1, &start, &n); /* of a cycle, only the last one may be shorter */
    return (runs - 1) * cut->cycle + n;
}

uint64_t file_cut_point(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i) {
    uint64_t start = 0, n, run = 0;
    if (cut->cycle && !cut->lists) run = i / cut->cycle, i %= cut->cycle;
    for (;; run++) {
        file_cut_run(cut, length, at, run, &start, &n);
        if (i < n) return start + i;
        i -= n;
    }
}

file_cut_most file_cut_largest(const file_cut *cut, uint64_t length) {
    file_cut_most most = cut->most;
    if (cut->lists) return most;
    uint64_t start; /* place 0 has most */
    most.runs = file_cut_runs(cut, length, 0);
    most.points = file_cut_points(cut, length, 0);
    file_cut_run(cut, length, 0, 0, &start, &most.longest);
    return most;
}

/* ---------------------------------------------------------------- lists */

/* The runs of every process, which take each point once, and each process's in order. */
static int take_runs(file_cut *cut, json_t *all, uint64_t length) {
    size_t i, k;
    json_t *mine, *run;
    uint64_t used = 0, points = 0;
    json_array_foreach(all, i, mine) {
        uint64_t next = 0;
        cut->first[i] = used;
        json_array_foreach(mine, k, run) {
            json_int_t start, n;
            if (json_unpack(run, "[I,I!]", &start, &n) || n < 1 || start < 0 || (uint64_t)start < next ||
                (uint64_t)n > length || (uint64_t)start > length - (uint64_t)n)
                return -1;
            cut->start[used] = (uint64_t)start;
            cut->n[used++] = (uint64_t)n;
            next = (uint64_t)(start + n);
            cut->points[i] += (uint64_t)n;
            if ((uint64_t)n > cut->most.longest) cut->most.longest = (uint64_t)n;
        }
        cut->first[i + 1] = used;
        points += cut->points[i];
        if (used - cut->first[i] > cut->most.runs) cut->most.runs = used - cut->first[i];
        if (cut->points[i] > cut->most.points) cut->most.points = cut->points[i];
    }
    return points == length ? 0 : -1;
}

int file_cut_take(file_cut *cut, json_t *all, uint64_t length) {
    size_t i, runs = 0;
    json_t *mine;
    if (!json_is_array(all) || !json_array_size(all)) return -1;
    json_array_foreach(all, i, mine) runs += json_array_size(mine);
    cut->lists = json_array_size(all);
    cut->first = calloc(cut->lists + 1, sizeof *cut->first);
    cut->points = calloc(cut->lists, sizeof *cut->points);
    cut->start = calloc(runs + 1, sizeof *cut->start);
    cut->n = calloc(runs + 1, sizeof *cut->n);
    if (!cut->first || !cut->points || !cut->start || !cut->n) return -1;
    return take_runs(cut, all, length);
}

void file_cut_release(file_cut *cut) {
    free(cut->first);
    free(cut->start);
    free(cut->n);
    free(cut->points);
}

/* ---------------------------------------------------------------- options */

static int check_places(const file_schema *s, int dim, const char *option, uint64_t procs, io_error *error) {
    const io_dim *d = &s->dims[dim];
    const file_cut *cut = &s->cuts[dim];
    if (cut->lists && cut->lists != procs)
        return io_fail_usage(error,
                             "%s: dimension %s has a list of %" PRIu64 " processes; right is %s=%" PRIu64,
                             option, d->name, cut->lists, d->name, cut->lists);
    if (procs <= d->length) return 0;
    return io_fail_usage(error,
                         "%s: dimension %s has %" PRIu64 " points for %" PRIu64
                         " processes; right is at most one process a point",
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
        "--cut %s: right is DIMENSION=PROCESSES, or DIMENSION=PROCESSES:cyclic[:POINTS], joined "
        "by commas, such as --cut lat=4,lon=2:cyclic:8",
        text);
}

static int parse_one(file_schema *s, const char *text, const char **at, io_error *error) {
    const char *equals = strchr(*at, '=');
    uint64_t cycle = 0;
    if (!equals) return wrong_cut(text, error);
    int dim = file_schema_dim(s, *at, (size_t)(equals - *at));
    if (dim < 0)
        return io_fail_usage(error, "--cut %s: no dimension %.*s; right is one of those of %s", text,
                             (int)(equals - *at), *at, s->source);
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
        return io_fail_usage(error, "--cut %s: dimension %s stands there twice; right is once", text,
                             s->dims[dim].name);
    if (cycle && s->cuts[dim].lists)
        return io_fail_usage(error, "--cut %s: dimension %s has a list; right is to leave :cyclic out", text,
                             s->dims[dim].name);
    if (cycle && cycle * procs > s->dims[dim].length && procs > 1)
        return io_fail_usage(error,
                             "--cut %s: dimension %s has %" PRIu64 " points, less than one turn of %" PRIu64
                             " processes with %" PRIu64 " each; right is fewer points a turn",
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

int file_cuts_grid(file_schema *s, const char *text, io_error *error) {
    const io_dataset *d = file_schema_largest(s);
    uint64_t grid[IO_MAX_DIMS];
    int n = 0;
    const char *at = text;
    for (; n < IO_MAX_DIMS; at++) {
        grid[n] = number(&at);
        if (!grid[n++] || !*at || *at != 'x') break;
    }
    if (!grid[n - 1] || *at)
        return io_fail_usage(
            error,
            "--procs-grid %s: right is at most %d whole numbers above 0 with an x between them, "
            "such as --procs-grid 4x4x2",
            text, IO_MAX_DIMS);
    const int rank = io_rank(d);
    if (n > rank || io_is_scalar(&s->schema, d))
        return io_fail_usage(
            error,
            "--procs-grid %s has %d numbers, and the largest variable, %s, has %d dimensions; "
            "right is at most one number for each",
            text, n, d->name, io_is_scalar(&s->schema, d) ? 0 : rank);
    for (int i = 0; i < n; i++) {
        int dim = d->dim[rank - n + i];
        if (s->cuts[dim].procs > 1 && grid[i] > 1 && !s->cuts[dim].lists)
            return io_fail_usage(error, "--procs-grid %s: %s has dimension %s twice; right is --cut %s=N",
                                 text, d->name, s->dims[dim].name, s->dims[dim].name);
        if (check_places(s, dim, "--procs-grid", grid[i], error)) return -1;
        s->cuts[dim].procs = grid[i];
    }
    return 0;
}

void file_cuts_default(file_schema *s, uint64_t processes) {
    const io_dataset *d = file_schema_largest(s);
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
    while (n--) { /* to the dimension with the longest blocks, the first of them */
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
