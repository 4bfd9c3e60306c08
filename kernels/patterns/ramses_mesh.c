/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a RAMSES dump, as in the memory of the process that writes it: grids are numbered from 1 in the
 * order of its file; cell c of grid g has number 1 + c * ngridmax + g; 0 is anything not in this file.
 * Positions, owners of grids and cells, and refinement flags are the same in every file. */
#include <string.h>

#include "patterns/ramses.h"

/* The file's float64 may be unaligned in memory. */
typedef double any_double __attribute__((aligned(4), may_alias));

#define COARSE_CELLS 1

enum { IND_GRID, NEXT, PREV, XG, FATHER, NBOR, SON, CPU_MAP, FLAG1 }; /* structures (ramses_amr.c) */

/* Consecutive grids of a row, starting at `from`. */
typedef struct {
    uint64_t from, to;
    int32_t number; /* of the first */
} stretch;

#define STRETCHES ((size_t)2 * RAMSES_PIECES)

static uint64_t wrap(uint64_t at, int shift, uint64_t edge) {
    return (at + edge + (uint64_t)(int64_t)shift) % edge;
}

/* The index of `at` in a span, or the span's length if it is not in it. */
static uint64_t place_in(const ramses_span *s, uint64_t at) {
    uint64_t first = s->to[0] - s->from[0];
    if (at >= s->from[0] && at < s->to[0]) return at - s->from[0];
    if (at >= s->from[1] && at < s->to[1]) return first + at - s->from[1];
    return ramses_span_length(s);
}

/* The part of row (y, z) that a view holds. */
static int row_of(const ramses_view *view, uint64_t y, uint64_t z, stretch *out) {
    int n = 0;
    for (int i = 0; i < view->n; i++) {
        const ramses_piece *p = &view->of[i];
        uint64_t nx = ramses_span_length(&p->along[0]), ny = ramses_span_length(&p->along[1]);
        uint64_t j = place_in(&p->along[1], y), k = place_in(&p->along[2], z);
        if (j == ny || k == ramses_span_length(&p->along[2])) continue;
        uint64_t number = view->below + p->first + (k * ny + j) * nx + 1;
        for (int part = 0; part < 2; part++) {
            uint64_t from = p->along[0].from[part], to = p->along[0].to[part];
            if (from < to) out[n++] = (stretch){from, to, (int32_t)number};
            number += to - from;
        }
    }
    return n;
}

/* Numbers of grids: the grid itself, its predecessor and its successor in its block. */
static void number_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                       uint64_t x1, void *data) {
    static const int shifts[] = {[IND_GRID] = 0, [NEXT] = 1, [PREV] = -1};
    const ramses_view *v = r->here;
    int32_t *out = data;
    uint64_t nx = ramses_span_length(&piece->along[0]), ny = ramses_span_length(&piece->along[1]);
    uint64_t j = place_in(&piece->along[1], y), k = place_in(&piece->along[2], z);
    uint64_t in_level = piece->first + (k * ny + j) * nx + place_in(&piece->along[0], x0);
    int32_t number = (int32_t)(v->below + in_level) + 1 + shifts[r->structure];
    for (uint64_t i = 0; i < x1 - x0; i++) out[i] = number + (int32_t)i;
    if (!shifts[r->structure]) return;
    uint64_t first = piece->first, end = piece->first + piece->count;
    for (const ramses_piece *p = piece; p > v->of && p[-1].cpu == p->cpu; p--) first = p[-1].first;
    for (const ramses_piece *p = piece; p < v->of + v->n && p->cpu == piece->cpu; p++)
        end = p->first + p->count;
    if (r->structure == NEXT && in_level + (x1 - x0) == end) out[x1 - x0 - 1] = 0;
    if (r->structure == PREV && in_level == first) out[0] = 0;
}

static void centre_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                       uint64_t x1, void *data) {
    any_double *out = data;
    double half = 0.5 / (double)r->here->edge;
    const double first = half * (double)(2 * (r->component == 0 ? x0 : r->component == 1 ? y : z) + 1);
    const double step = r->component ? 0 : 2 * half;
    (void)piece;
    for (uint64_t i = 0; i < x1 - x0; i++) out[i] = first + step * (double)i; /* exact: powers of two */
}

/* The cell of the coarser level that contains each grid, `shift` cells further along each axis. */
static void cell_row(const ramses_rows *r, uint64_t y, uint64_t z, uint64_t x0, uint64_t x1,
                     const int shift[3], int32_t *out) {
    stretch found[STRETCHES];
    int32_t base[2], most = (int32_t)r->s->levels.most;
    uint64_t edge = r->here->edge;
    if (!r->up) { /* the coarse cell is its own neighbor */
        for (uint64_t i = 0; i < x1 - x0; i++) out[i] = COARSE_CELLS;
        return;
    }
    y = wrap(y, shift[1], edge);
    z = wrap(z, shift[2], edge);
    for (int i = 0; i < 2; i++) base[i] = COARSE_CELLS + most * (i + 2 * (int)(y & 1) + 4 * (int)(z & 1));
    memset(out, 0, (x1 - x0) * sizeof *out);
    int n = row_of(r->up, y >> 1, z >> 1, found);
    while (x0 < x1) { /* up to the border of the box */
        uint64_t c = wrap(x0, shift[0], edge), some = edge - c < x1 - x0 ? edge - c : x1 - x0;
        for (int k = 0; k < n; k++) {
            uint64_t from = 2 * found[k].from > c ? 2 * found[k].from : c;
            uint64_t to = 2 * found[k].to < c + some ? 2 * found[k].to : c + some;
            for (uint64_t i = from; i < to; i++)
                out[i - c] = base[i & 1] + found[k].number + (int32_t)((i >> 1) - found[k].from);
        }
        x0 += some;
        out += some;
    }
}

static void father_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                       uint64_t x1, void *out) {
    (void)piece;
    cell_row(r, y, z, x0, x1, (const int[]){0, 0, 0}, out);
}

static void neighbour_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z,
                          uint64_t x0, uint64_t x1, void *out) {
    int shift[3] = {0};
    shift[r->component / 2] = r->component % 2 ? 1 : -1;
    (void)piece;
    cell_row(r, y, z, x0, x1, shift, out);
}

/* The coordinate of cell c of a grid along an axis, in cells of a level twice as fine. */
static uint64_t cell(uint64_t at, int c, int axis) { return 2 * at + (uint64_t)(c >> axis & 1); }

/* The first grid whose cell at `bit` is at or after `at`. */
static uint64_t grid_from(uint64_t at, uint64_t bit) { return at < bit ? 0 : (at - bit + 1) / 2; }

static void son_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                    uint64_t x1, void *data) {
    stretch found[STRETCHES];
    int32_t *out = data;
    uint64_t bit = (uint64_t)r->component & 1;
    (void)piece;
    memset(out, 0, (x1 - x0) * sizeof *out);
    int n = r->down && r->down->n ? row_of(r->down, cell(y, r->component, 1), cell(z, r->component, 2), found)
                                  : 0;
    for (int k = 0; k < n; k++) {
        uint64_t from = grid_from(found[k].from, bit), to = grid_from(found[k].to, bit);
        if (from < x0) from = x0;
        if (to > x1) to = x1;
        for (uint64_t i = from; i < to; i++)
            out[i - x0] = found[k].number + (int32_t)(2 * i + bit - found[k].from);
    }
}

/* Walls lie between grids of the finest full level: from that level on, a cell has its grid's owner. */
static void cpu_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                    uint64_t x1, void *data) {
    const ramses_levels *l = &r->s->levels;
    int32_t *out = data;
    uint64_t bit = (uint64_t)r->component & 1;
    uint64_t at[3] = {0, cell(y, r->component, 1), cell(z, r->component, 2)};
    for (uint64_t i = x0; i < x1;) {
        uint64_t cpu = piece->cpu, end = x1;
        ramses_box part;
        at[0] = 2 * i + bit;
        if (r->level + 1 < l->base) {
            cpu = ramses_cpu_at(l, r->level + 1, at, &part);
            end = grid_from(part.to[0], bit);
        }
        for (; i < end && i < x1; i++) out[i - x0] = (int32_t)cpu + 1;
    }
}

/* 1 for refined cells. */
static void flag_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                     uint64_t x1, void *data) {
    const ramses_levels *l = &r->s->levels;
    int32_t *out = data;
    uint64_t bit = (uint64_t)r->component & 1,
             at[3] = {0, cell(y, r->component, 1), cell(z, r->component, 2)};
    uint64_t from = x0, to = x1;
    if (r->level + 1 >= l->base) {
        ramses_box part = {.to = {0}};
        if (r->level + 1 < l->levels) part = ramses_part_of(l, r->level + 1, piece->cpu);
        bool inside =
            at[1] >= part.from[1] && at[1] < part.to[1] && at[2] >= part.from[2] && at[2] < part.to[2];
        from = inside ? grid_from(part.from[0], bit) : 0;
        to = inside ? grid_from(part.to[0], bit) : 0;
    }
    for (uint64_t i = x0; i < x1; i++) out[i - x0] = i >= from && i < to;
}

bool ramses_mesh_same(const ramses_rows *r, const ramses_piece *piece, int32_t *value) {
    const ramses_levels *l = &r->s->levels;
    bool finest = r->level + 1 >= l->base, none = !r->down || !r->down->n;
    switch (r->structure) {
    case SON: *value = 0; return none;
    case CPU_MAP: *value = (int32_t)piece->cpu + 1; return finest;
    case FLAG1: *value = !finest; return !finest || r->level + 1 == l->levels;
    default: return false;
    }
}

ramses_row *ramses_mesh_row(int structure) {
    static ramses_row *const rows[] = {
        [IND_GRID] = number_row, [NEXT] = number_row,   [PREV] = number_row,
        [XG] = centre_row,       [FATHER] = father_row, [NBOR] = neighbour_row,
        [SON] = son_row,         [CPU_MAP] = cpu_row,   [FLAG1] = flag_row,
    };
    return rows[structure];
}
