/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of data sets and parts, and the contiguous runs of a part in the file. */
#ifndef IOGAUGE_LAYOUT_H
#define IOGAUGE_LAYOUT_H

#include "base/data.h"

uint64_t io_dataset_length(const io_schema *schema, int dataset); /* in elements */
uint64_t io_dataset_bytes(const io_schema *schema, int dataset);
uint64_t io_dataset_offset(const io_schema *schema, int dataset); /* in a canonical raw file */
uint64_t io_part_elements(const io_schema *schema, const io_part *part);
uint64_t io_part_bytes(const io_schema *schema, const io_part *part);
/* Elements of the part before element `global` of its data set, computed without iterating over runs. */
uint64_t io_part_before(const io_schema *schema, const io_part *part, uint64_t global);
/* How many leading parts belong to the same data set as the first. */
int io_leading_parts(const io_part *parts, int n);
/* Block distribution: range `index` of `parts` over `length`. The first ranges take the remainder. */
void io_split(uint64_t length, uint64_t parts, uint64_t index, uint64_t *start, uint64_t *count);
/* A near-cubic process grid, longest edge first: assigns prime factors, largest first, to the axis with the
 * smallest count. */
void io_process_grid(uint64_t processes, uint64_t grid[3]);

/* The contiguous runs of a part, in file order: for (io_runs r = io_runs_of(s, p); io_runs_next(&r);) */
typedef struct {
    uint64_t global, local, length; /* this run, in elements: position in the data set and in the part */
    uint64_t left, stride[IO_MAX_DIMS], count[IO_MAX_DIMS], at[IO_MAX_DIMS];
    uint64_t first;
    int outer;
    bool begun;
} io_runs;
io_runs io_runs_of(const io_schema *schema, const io_part *part);
/* Starts at the run that holds element `local` of the part. */
io_runs io_runs_from(const io_schema *schema, const io_part *part, uint64_t local);
bool io_runs_next(io_runs *runs);

#endif
