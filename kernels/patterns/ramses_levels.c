/* SPDX-License-Identifier: BSD-3-Clause */
#include "patterns/ramses_levels.h"

#include <stdlib.h>

/* Additional grids of the size model, besides the levels' own. */
#define EXTRA_GRIDS 26

/* One of this many processes has refined grids. */
#define REFINED_EVERY 4

/* Up to this many processes have an entry each in `before`. */
#define STRIDES 65536

/* The grids that a process holds on a level fill one to three boxes (windows), which may cross the
 * border of the periodic box: its domain with one layer; and of the second layer some whole rows, and a part
 * of one. */
typedef struct {
    int n;
    ramses_span of[3][3];
} windows;

uint64_t ramses_wall(const ramses_box *box, int axis, uint64_t n) {
    uint64_t low = n / 2, high = n - low;
    return (2 * (box->from[axis] * high + box->to[axis] * low) + n) / (2 * n);
}

static ramses_box whole_box(const ramses_levels *l) {
    uint64_t edge = (uint64_t)1 << (l->base - 1);
    return (ramses_box){
        .to = {edge, edge, edge}
    };
}

/* The descent to one process's box: processes `first` to `first + n - 1` share the current box. */
typedef struct {
    ramses_box box;
    uint64_t first, n, wall; /* `wall`: position of the next cut */
    int axis;
} descent;

static descent from_whole_box(const ramses_levels *l) {
    descent d = {.box = whole_box(l), .n = l->processes};
    if (d.n > 1) d.wall = ramses_wall(&d.box, d.axis, d.n);
    return d;
}

static void take_half(descent *d, bool high) {
    uint64_t low = d->n / 2;
    (high ? d->box.from : d->box.to)[d->axis] = d->wall;
    if (high) d->first += low;
    d->n = high ? d->n - low : low;
    d->axis = (d->axis + 1) % 3;
    if (d->n > 1) d->wall = ramses_wall(&d->box, d->axis, d->n);
}

ramses_box ramses_domain(const ramses_levels *l, uint64_t owner) {
    descent d = from_whole_box(l);
    while (d.n > 1) take_half(&d, owner >= d.first + d.n / 2);
    return d.box;
}

/* The first grid of a full level whose center is at or after `place`. */
static uint64_t first_from(const ramses_levels *l, int level, uint64_t place) {
    uint64_t size = (uint64_t)1 << (l->base - 1 - level);
    return (place + (size - 1) / 2) / size;
}

/* Along one axis of a domain: starts one layer inside, so that no neighbor has ghosts of it; the second level
 * keeps a layer of the first around it. */
static void refine(uint64_t *from, uint64_t *to, int depth) {
    uint64_t width = *to - *from, most = width > 2 ? 2 * width - 4 : 0;
    uint64_t first = 5 * width / 8 > 2 ? 5 * width / 8 : 2;
    if (first > most) first = most;
    uint64_t second = 2 * first > 3 ? 2 * first - 3 : 0;
    if (second > width / 2) second = width / 2;
    *from = depth == 1 ? 2 * *from + 2 : 4 * *from + 6;
    *to = *from + (depth == 1 ? first : second);
}

static bool is_empty(const ramses_box *box) {
    for (int d = 0; d < 3; d++)
        if (box->from[d] >= box->to[d]) return true;
    return false;
}

static ramses_box part_of(const ramses_levels *l, int level, uint64_t owner, ramses_box box) {
    bool none = level >= l->base && (owner % REFINED_EVERY || is_empty(&box));
    for (int d = 0; d < 3 && !none; d++) {
        if (level >= l->base) {
            refine(&box.from[d], &box.to[d], level - l->base + 1);
        } else {
            box.from[d] = first_from(l, level, box.from[d]);
            box.to[d] = first_from(l, level, box.to[d]);
        }
    }
    return none ? (ramses_box){.to = {0}} : box;
}

ramses_box ramses_part_of(const ramses_levels *l, int level, uint64_t owner) {
    return part_of(l, level, owner, ramses_domain(l, owner));
}

uint64_t ramses_cpu_at(const ramses_levels *l, int level, const uint64_t at[3], ramses_box *part) {
    descent d = from_whole_box(l);
    while (d.n > 1) take_half(&d, at[d.axis] >= first_from(l, level, d.wall));
    *part = part_of(l, level, d.first, d.box);
    return d.first;
}

/* ---------------------------------------------------------------- spans and windows */

static uint64_t range(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

uint64_t ramses_span_length(const ramses_span *s) {
    return range(s->from[0], s->to[0]) + range(s->from[1], s->to[1]);
}

/* `n` positions from `from` on, with wrap-around. */
static ramses_span wrapped_span(uint64_t from, uint64_t n, uint64_t edge) {
    if (n >= edge) return (ramses_span){.to = {edge}};
    if (from + n <= edge) return (ramses_span){.from = {from}, .to = {from + n}};
    return (ramses_span){
        .from = {0,               from},
          .to = {from + n - edge, edge}
    };
}

static ramses_span common(const ramses_span *s, uint64_t from, uint64_t to) {
    ramses_span out = *s;
    for (int i = 0; i < 2; i++) {
        if (out.from[i] < from) out.from[i] = from;
        if (out.to[i] > to) out.to[i] = to;
        if (out.to[i] < out.from[i]) out.to[i] = out.from[i];
    }
    return out;
}

/* The number of grids of the second layer, which has `most`: partners with equal domains exchange some, so
 * that sums are unchanged. */
static uint64_t extra_grids(const ramses_levels *l, uint64_t owner, uint64_t most) {
    uint64_t each = most / 2 < EXTRA_GRIDS ? most / 2 : EXTRA_GRIDS, even = owner & ~(uint64_t)1;
    bool alike = !(l->processes & (l->processes - 1)) && l->processes <= (uint64_t)1 << (3 * (l->base - 1));
    if (!alike) return each;
    uint64_t x = (even + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    uint64_t first = (x >> 33) % (2 * each + 1);
    return owner == even ? first : 2 * each - first;
}

/* They lie before the domain and its layer, along its thinnest axis. */
static void add_extra_grids(const ramses_levels *l, uint64_t owner, windows *w, const uint64_t from[3],
                            const uint64_t n[3], uint64_t edge) {
    int axis = 0;
    for (int d = 1; d < 3; d++)
        if (n[d] < n[axis]) axis = d;
    if (n[axis] >= edge) return;
    int row = axis == 0 ? 1 : 0, next = axis == 2 ? 1 : 2;
    uint64_t some = extra_grids(l, owner, n[row] * n[next]);
    uint64_t rows = some / n[row], rest = some % n[row], plane = (from[axis] + edge - 1) % edge;
    for (int i = 0; i < 2; i++) {
        uint64_t along = i ? rest : n[row], across = i ? 1 : rows, first = i ? rows : 0;
        if (!along || !across) continue;
        ramses_span *s = w->of[w->n++];
        s[axis] = wrapped_span(plane, 1, edge);
        s[row] = wrapped_span(from[row], along, edge);
        s[next] = wrapped_span((from[next] + first) % edge, across, edge);
    }
}

static windows windows_of(const ramses_levels *l, int level, uint64_t owner) {
    windows w = {0};
    ramses_box box = ramses_domain(l, owner);
    uint64_t from[3], n[3], edge = (uint64_t)1 << level;
    if (level >= l->base) box = part_of(l, level, owner, box);
    if (is_empty(&box)) return w;
    w.n = 1;
    for (int d = 0; d < 3 && level >= l->base; d++)
        w.of[0][d] = wrapped_span(box.from[d], box.to[d] - box.from[d], edge);
    if (level >= l->base) return w;
    uint64_t size = (uint64_t)1 << (l->base - 1 - level);
    for (int d = 0; d < 3; d++) {
        uint64_t first = box.from[d] / size, end = (box.to[d] + size - 1) / size;
        n[d] = end - first + 2;
        from[d] = (first + edge - 1) % edge;
        if (l->processes == 1 || n[d] >= edge) n[d] = edge, from[d] = 0;
        w.of[0][d] = wrapped_span(from[d], n[d], edge);
    }
    if (level == l->base - 1) add_extra_grids(l, owner, &w, from, n, edge);
    return w;
}

/* ---------------------------------------------------------------- counts */

static uint64_t volume(const ramses_span along[3]) {
    return ramses_span_length(&along[0]) * ramses_span_length(&along[1]) * ramses_span_length(&along[2]);
}

uint64_t ramses_grids(const ramses_levels *l, int level, uint64_t owner) {
    windows w = windows_of(l, level, owner);
    uint64_t sum = 0;
    for (int i = 0; i < w.n; i++) sum += volume(w.of[i]);
    return sum;
}

uint64_t ramses_all_grids(const ramses_levels *l, uint64_t owner) {
    uint64_t sum = 0;
    for (int i = 0; i < l->levels; i++) sum += ramses_grids(l, i, owner);
    return sum;
}

uint64_t ramses_grids_before(const ramses_levels *l, int level, uint64_t owner) {
    uint64_t at = owner / l->stride, sum = l->before[at * (uint64_t)l->levels + (uint64_t)level];
    for (uint64_t i = at * l->stride; i < owner; i++) sum += ramses_grids(l, level, i);
    return sum;
}

static void count_owned(ramses_levels *l, int level, uint64_t owner) {
    ramses_box part = ramses_part_of(l, level, owner);
    uint64_t own = 1;
    for (int d = 0; d < 3; d++) own *= range(part.from[d], part.to[d]);
    if (own > l->owned[level].most) l->owned[level].most = own;
    if (!owner || own < l->owned[level].least) l->owned[level].least = own;
    l->owned[level].all += own;
}

int ramses_levels_set(ramses_levels *l, int base, int refined, uint64_t processes) {
    *l = (ramses_levels){.processes = processes, .base = base, .levels = base + refined};
    l->stride = processes / STRIDES + 1;
    size_t levels = (size_t)l->levels, strides = processes / l->stride + 1;
    uint64_t sums[RAMSES_LEVELS] = {0};
    l->before = calloc(strides * levels, sizeof *l->before);
    l->views = calloc(levels, sizeof *l->views);
    if (!l->before || !l->views) return -1;
    for (uint64_t owner = 0; owner <= processes; owner++) {
        uint64_t all = 0;
        for (int i = 0; i < l->levels; i++) {
            if (owner % l->stride == 0) l->before[owner / l->stride * levels + (uint64_t)i] = sums[i];
            if (owner == processes) continue;
            uint64_t grids = ramses_grids(l, i, owner);
            if (grids > l->most_on_level) l->most_on_level = grids;
            count_owned(l, i, owner);
            sums[i] += grids;
            all += grids;
        }
        if (all > l->most) l->most = all;
    }
    return 0;
}

void ramses_levels_release(ramses_levels *l) {
    free(l->before);
    free(l->views);
    l->before = NULL;
    l->views = NULL;
}

/* ---------------------------------------------------------------- pieces */

/* The parts of a process's windows that other processes own. */
typedef struct {
    const ramses_levels *l;
    const windows *w;
    int level;
    ramses_view *out;
} search;

/* The grids of a window in a part of the box; false if there are none. */
static bool intersect(const search *s, int window, const ramses_box *part, ramses_span out[3]) {
    for (int d = 0; d < 3; d++) {
        out[d] = common(&s->w->of[window][d], part->from[d], part->to[d]);
        if (!ramses_span_length(&out[d])) return false;
    }
    return true;
}

static void add_pieces(const search *s, uint64_t cpu, const ramses_box *part) {
    ramses_view *v = s->out;
    for (int i = 0; i < s->w->n && v->n < RAMSES_PIECES; i++) {
        ramses_piece *p = &v->of[v->n];
        if (!intersect(s, i, part, p->along)) continue;
        p->cpu = cpu;
        p->first = v->count;
        p->count = volume(p->along);
        v->count += p->count;
        v->n++;
    }
}

/* Processes from `first` on, whose domains fill `box`. */
static void search_box(const search *s, uint64_t first, uint64_t n, int axis, const ramses_box *box) {
    ramses_box part = part_of(s->l, s->level, first, *box), low = *box, high = *box;
    ramses_span unused[3];
    bool any = false;
    for (int i = 0; i < s->w->n && !any; i++) any = intersect(s, i, &part, unused);
    if (!any) return;
    if (n == 1) {
        add_pieces(s, first, &part);
        return;
    }
    low.to[axis] = high.from[axis] = ramses_wall(box, axis, n);
    search_box(s, first, n / 2, (axis + 1) % 3, &low);
    search_box(s, first + n / 2, n - n / 2, (axis + 1) % 3, &high);
}

const ramses_view *ramses_view_of(const ramses_levels *l, int level, uint64_t owner) {
    ramses_view *v = &l->views[level];
    if (v->made && v->owner == owner) return v;
    windows w = windows_of(l, level, owner);
    search s = {.l = l, .w = &w, .level = level, .out = v};
    v->owner = owner;
    v->edge = (uint64_t)1 << level;
    v->below = v->count = 0;
    v->n = 0;
    for (int i = 0; i < level; i++) v->below += ramses_grids(l, i, owner);
    ramses_box box = whole_box(l), own = ramses_part_of(l, level, owner);
    if (level < l->base)
        search_box(&s, 0, l->processes, 0, &box);
    else
        add_pieces(&s, owner, &own);
    v->made = true;
    return v;
}

int ramses_blocks(const ramses_view *view, ramses_block *blocks) {
    int n = 0;
    for (int i = 0; i < view->n; i++) {
        const ramses_piece *p = &view->of[i];
        if (!n || blocks[n - 1].cpu != p->cpu) blocks[n++] = (ramses_block){.cpu = p->cpu, .first = p->first};
        blocks[n - 1].count += p->count;
    }
    return n;
}
