/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of a dimension that each coordinate has: in blocks, cyclic, or by a list. */
#include <stdlib.h>

#include "patterns/file.h"

/* ---------------------------------------------------------------- points */

uint64_t file_cut_runs(const file_cut *cut, uint64_t length, uint64_t at) {
    if (cut->lists) return cut->first[at + 1] - cut->first[at];
    if (!cut->cycle) return 1;
    uint64_t runs = (length + cut->cycle - 1) / cut->cycle; /* of all coordinates */
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
    file_cut_run(cut, length, at, runs - 1, &start, &n); /* of a cycle, only the last run may be shorter */
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
    uint64_t start; /* coordinate 0 has the most */
    most.runs = file_cut_runs(cut, length, 0);
    most.points = file_cut_points(cut, length, 0);
    file_cut_run(cut, length, 0, 0, &start, &most.longest);
    return most;
}

/* ---------------------------------------------------------------- lists */

/* Reads the runs of every process. Each point occurs once, and each process's runs are sorted. */
static int parse_runs(file_cut *cut, json_t *all, uint64_t length) {
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

int file_cut_read(file_cut *cut, json_t *all, uint64_t length) {
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
    return parse_runs(cut, all, length);
}

void file_cut_release(file_cut *cut) {
    free(cut->first);
    free(cut->start);
    free(cut->n);
    free(cut->points);
}
