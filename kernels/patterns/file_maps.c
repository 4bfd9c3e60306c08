/* SPDX-License-Identifier: BSD-3-Clause */
/* Decomposition maps over several dimensions, whose processes form no grid, as in E3SM. */
#include <stdlib.h>
#include <string.h>

#include "patterns/file.h"

/* ---------------------------------------------------------------- reading */

/* Reads the map's dimensions; returns their number of points, or 0 on error. */
static uint64_t parse_dims(const file_schema *s, json_t *names, file_map *map) {
    size_t i;
    json_t *one;
    uint64_t points = 1;
    if (!json_is_array(names) || !json_array_size(names) || json_array_size(names) > IO_MAX_DIMS) return 0;
    json_array_foreach(names, i, one) {
        const char *name = json_string_value(one);
        if (!name) return 0;
        if (!i) map->name = name;
        map->dim[i] = file_schema_dim(s, name, strlen(name));
        if (map->dim[i] < 0 || __builtin_mul_overflow(points, s->dims[map->dim[i]].length, &points)) return 0;
    }
    map->ndims = (int)json_array_size(names);
    return points;
}

static int parse_map(const file_schema *s, json_t *one, file_map *map) {
    uint64_t points = parse_dims(s, json_object_get(one, "dimensions"), map);
    if (!points || file_cut_read(&map->cut, json_object_get(one, "runs"), points)) return -1;
    uint64_t row = s->dims[map->dim[map->ndims - 1]].length;
    for (uint64_t i = 0; i < map->cut.first[map->cut.lists]; i++)
        if (map->cut.n[i] > row - map->cut.start[i] % row) return -1;
    return map->cut.lists == s->maps->cut.lists ? 0 : -1;
}

const char *file_maps_read(file_schema *s) {
    json_t *all = json_object_get(s->document, "maps"), *one;
    size_t i;
    if (!json_array_size(all)) return NULL;
    s->maps = calloc(json_array_size(all), sizeof *s->maps);
    if (!s->maps) return "";
    json_array_foreach(all, i, one) {
        file_map *map = &s->maps[s->nmaps++];
        if (parse_map(s, one, map)) return map->name ? map->name : "";
    }
    return NULL;
}

void file_maps_release(file_schema *s) {
    for (int i = 0; i < s->nmaps; i++) file_cut_release(&s->maps[i].cut);
    free(s->maps);
}

/* ---------------------------------------------------------------- owners */

const file_map *file_map_of(const file_schema *s, const io_dataset *d, int *axis) {
    const file_map *found = NULL;
    for (int i = 0; i < s->nmaps; i++) {
        const file_map *map = &s->maps[i];
        if (found && found->ndims >= map->ndims) continue;
        for (int at = 0; at + map->ndims <= d->ndims; at++)
            if (!memcmp(d->dim + at, map->dim, (size_t)map->ndims * sizeof *map->dim)) {
                found = map;
                *axis = at;
                break;
            }
    }
    return found;
}

/* Elements of axes a to b. */
static uint64_t product(const file_schema *s, const io_dataset *d, int a, int b) {
    uint64_t n = 1;
    for (; a < b; a++) n *= s->dims[d->dim[a]].length;
    return n;
}

uint64_t file_map_parts(const file_schema *s, const io_dataset *d) {
    int axis = 0;
    uint64_t parts, runs = file_map_of(s, d, &axis)->cut.most.runs;
    return __builtin_mul_overflow(product(s, d, 0, axis), runs ? runs : 1, &parts) ? UINT64_MAX : parts;
}

uint64_t file_map_elements(const file_schema *s, const io_dataset *d, uint64_t owner) {
    int axis = 0;
    const file_map *map = file_map_of(s, d, &axis);
    return product(s, d, 0, axis) * map->cut.points[owner] * product(s, d, axis + map->ndims, d->ndims);
}

bool file_map_part(const file_schema *s, const io_dataset *d, uint64_t owner, uint64_t number,
                   io_part *part) {
    int axis = 0;
    const file_map *map = file_map_of(s, d, &axis);
    const file_cut *cut = &map->cut;
    uint64_t most = cut->most.runs ? cut->most.runs : 1, before = number / most;
    uint64_t run = cut->first[owner] + number % most;
    if (run >= cut->first[owner + 1]) return false;
    uint64_t point = cut->start[run];
    const int last = axis + map->ndims - 1;
    for (int i = last; i >= 0; i--) {
        uint64_t length = s->dims[d->dim[i]].length, *left = i >= axis ? &point : &before;
        part->start[i] = *left % length;
        part->count[i] = i == last ? cut->n[run] : 1;
        *left /= length;
    }
    for (int i = last + 1; i < d->ndims; i++) part->start[i] = 0, part->count[i] = s->dims[d->dim[i]].length;
    return true;
}

void file_map_block(const file_schema *s, io_dataset *d) {
    int axis = 0;
    const file_map *map = file_map_of(s, d, &axis);
    const int last = axis + map->ndims - 1;
    for (int i = 0; i < d->ndims; i++)
        d->block[i] = i < last ? 1 : i == last ? map->cut.most.longest : s->dims[d->dim[i]].length;
}
