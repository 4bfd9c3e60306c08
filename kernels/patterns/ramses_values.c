/* SPDX-License-Identifier: BSD-3-Clause */
/* --values physical: generates the grids of a part row by row. A part holds whole pieces of a process's
 * levels, as returned by ramses_parts. */
#include "patterns/ramses.h"

/* Both intervals of x, in each row of a piece. */
static char *fill_piece(const ramses_rows *r, ramses_row *row, const ramses_piece *piece, uint64_t bytes,
                        char *out) {
    const ramses_span *along = piece->along;
    int32_t *ints = (int32_t *)out, value;
    if (!r->s->kind->gas && ramses_mesh_same(r, piece, &value)) {
        for (uint64_t i = 0; i < piece->count; i++) ints[i] = value;
        return out + piece->count * bytes;
    }
    for (int k = 0; k < 2; k++)
        for (uint64_t z = along[2].from[k]; z < along[2].to[k]; z++)
            for (int j = 0; j < 2; j++)
                for (uint64_t y = along[1].from[j]; y < along[1].to[j]; y++)
                    for (int i = 0; i < 2; i++) {
                        uint64_t from = along[0].from[i], to = along[0].to[i];
                        if (from >= to) continue;
                        row(r, piece, y, z, from, to, out);
                        out += (to - from) * bytes;
                    }
    return out;
}

void ramses_values(const ramses *s, uint64_t owner, uint64_t step, const io_part *part, void *out) {
    const ramses_levels *l = &s->levels;
    const io_dataset *d = &s->sets[part->dataset];
    int last = d->ndims - 1,
        structure = part->dataset - s->first_grid_set + (s->own_files ? 0 : s->kind->own_only);
    uint64_t first = last ? part->start[0] : 0, components = last ? part->count[0] : 1;
    uint64_t begin = part->start[last], end = begin + part->count[last], bytes = io_type_size(d->type);
    ramses_row *row = s->kind->gas ? ramses_gas_row : ramses_mesh_row(structure);
    char *next = out;
    double speed, shock = ramses_shock(step, &speed);
    for (uint64_t c = first; c < first + components; c++)
        for (int level = 0; level < l->levels; level++) {
            uint64_t start = ramses_grid_start(s, level, owner);
            if (start >= end || start + ramses_grids(l, level, owner) <= begin) continue;
            ramses_rows r = {.s = s,
                             .owner = owner,
                             .step = step,
                             .level = level,
                             .structure = structure,
                             .shock = shock,
                             .speed = speed,
                             .component = (int)c,
                             .here = ramses_view_of(l, level, owner)};
            if (!s->kind->gas && level) r.up = ramses_view_of(l, level - 1, owner);
            if (!s->kind->gas && level + 1 < l->levels) r.down = ramses_view_of(l, level + 1, owner);
            for (int i = 0; i < r.here->n; i++) {
                const ramses_piece *piece = &r.here->of[i];
                if (start + piece->first >= begin && start + piece->first < end)
                    next = fill_piece(&r, row, piece, bytes, next);
            }
        }
}
