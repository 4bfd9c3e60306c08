/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/layout.h"

uint64_t io_dataset_length(const io_schema *schema, int dataset) {
    const io_dataset *d = &schema->datasets[dataset];
    uint64_t n = 1;
    for (int i = 0; i < d->ndims; i++) n *= schema->dims[d->dim[i]].length;
    return n;
}

uint64_t io_dataset_bytes(const io_schema *schema, int dataset) {
    return io_dataset_length(schema, dataset) * io_type_size(schema->datasets[dataset].type);
}

uint64_t io_dataset_offset(const io_schema *schema, int dataset) {
    uint64_t offset = 0;
    for (int i = 0; i < dataset; i++) offset += io_dataset_bytes(schema, i);
    return offset;
}

uint64_t io_part_elements(const io_schema *schema, const io_part *part) {
    uint64_t n = 1;
    for (int i = 0; i < schema->datasets[part->dataset].ndims; i++) n *= part->count[i];
    return n;
}

uint64_t io_part_bytes(const io_schema *schema, const io_part *part) {
    return io_part_elements(schema, part) * io_type_size(schema->datasets[part->dataset].type);
}

uint64_t io_part_before(const io_schema *schema, const io_part *part, uint64_t global) {
    const io_dataset *d = &schema->datasets[part->dataset];
    uint64_t stride[IO_MAX_DIMS], inner[IO_MAX_DIMS], volume = 1, box = 1, before = 0;
    for (int i = d->ndims - 1; i >= 0; i--) {
        stride[i] = volume;
        inner[i] = box;
        volume *= schema->dims[d->dim[i]].length;
        box *= part->count[i];
    }
    if (global >= volume) return box;
    for (int i = 0; i < d->ndims; i++) {
        uint64_t at = global / stride[i];
        global %= stride[i];
        if (at < part->start[i]) return before;
        if (at >= part->start[i] + part->count[i]) return before + part->count[i] * inner[i];
        before += (at - part->start[i]) * inner[i];
    }
    return before;
}

int io_leading_parts(const io_part *parts, int n) {
    int alike = 1;
    while (alike < n && parts[alike].dataset == parts[0].dataset) alike++;
    return alike;
}

void io_split(uint64_t length, uint64_t parts, uint64_t index, uint64_t *start, uint64_t *count) {
    uint64_t each = length / parts, rest = length % parts;
    *start = index * each + (index < rest ? index : rest);
    *count = each + (index < rest ? 1 : 0);
}

void io_process_grid(uint64_t processes, uint64_t grid[3]) {
    uint64_t factors[64];
    int n = 0;
    for (uint64_t f = 2; processes > 1; f++) {
        if (f * f > processes) f = processes;
        for (; processes % f == 0; processes /= f) factors[n++] = f;
    }
    for (int i = 0; i < 3; i++) grid[i] = 1;
    while (n--) {
        int least = 0;
        for (int i = 1; i < 3; i++)
            if (grid[i] < grid[least]) least = i;
        grid[least] *= factors[n];
    }
}

io_runs io_runs_of(const io_schema *schema, const io_part *part) {
    const io_dataset *d = &schema->datasets[part->dataset];
    io_runs runs = {.length = 1, .left = 1};
    uint64_t stride[IO_MAX_DIMS], volume = 1;
    for (int i = d->ndims - 1; i >= 0; i--) {
        stride[i] = volume;
        volume *= schema->dims[d->dim[i]].length;
        runs.first += part->start[i] * stride[i];
    }
    /* All complete fastest dimensions, and the one before them, form one run. */
    int last = d->ndims - 1;
    while (last > 0 && part->count[last] == schema->dims[d->dim[last]].length)
        runs.length *= part->count[last--];
    if (last >= 0) runs.length *= part->count[last];
    runs.outer = last > 0 ? last : 0;
    for (int i = 0; i < runs.outer; i++) {
        runs.count[i] = part->count[i];
        runs.stride[i] = stride[i];
        runs.left *= part->count[i];
    }
    if (!runs.length) runs.left = 0;
    return runs;
}

io_runs io_runs_from(const io_schema *schema, const io_part *part, uint64_t local) {
    io_runs runs = io_runs_of(schema, part);
    if (!runs.left) return runs;
    uint64_t skipped = local / runs.length;
    if (skipped >= runs.left) {
        runs.left = 0;
        return runs;
    }
    runs.local = skipped * runs.length;
    runs.left -= skipped;
    for (int i = runs.outer - 1; i >= 0; i--) {
        runs.at[i] = skipped % runs.count[i];
        skipped /= runs.count[i];
        runs.first += runs.at[i] * runs.stride[i];
    }
    return runs;
}

bool io_runs_next(io_runs *runs) {
    if (!runs->left) return false;
    runs->left--;
    if (!runs->begun) {
        runs->begun = true;
        runs->global = runs->first;
        return true;
    }
    runs->local += runs->length;
    for (int i = runs->outer - 1; i >= 0; i--) {
        runs->global += runs->stride[i];
        if (++runs->at[i] < runs->count[i]) break;
        runs->global -= runs->stride[i] * runs->count[i];
        runs->at[i] = 0;
    }
    return true;
}
