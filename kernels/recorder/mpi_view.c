/* SPDX-License-Identifier: BSD-3-Clause */
/* Decomposes a data type into pieces of bytes. */
#include "mpi_view.h"

#include <stdbool.h>
#include <stdlib.h>

#include "mpi_handles.h"

#define MAX_PIECES ((uint64_t)1 << 20)
#define MAX_DIMENSIONS 32

typedef struct {
    view *v;
    size_t room;
    bool failed;
} pieces;

typedef struct {
    int64_t size, lower, extent, true_lower, true_extent;
} measures;

static int64_t size_of(MPI_Datatype type) {
    LOOK_UP(ask, MPI_Type_size_x, (MPI_Datatype, MPI_Count *));
    MPI_Count size = 0;
    return ask(type, &size) == MPI_SUCCESS && size > 0 ? (int64_t)size : 0;
}

static void extent_of(MPI_Datatype type, measures *m) {
    LOOK_UP(ask, MPI_Type_get_extent_x, (MPI_Datatype, MPI_Count *, MPI_Count *));
    MPI_Count lower = 0, extent = 0;
    ask(type, &lower, &extent);
    m->lower = lower;
    m->extent = extent;
}

static measures measure(MPI_Datatype type) {
    LOOK_UP(ask, MPI_Type_get_true_extent_x, (MPI_Datatype, MPI_Count *, MPI_Count *));
    MPI_Count lower = 0, extent = 0;
    ask(type, &lower, &extent);
    measures m = {.size = size_of(type), .true_lower = lower, .true_extent = extent};
    extent_of(type, &m);
    return m;
}

static void add(pieces *to, int64_t at, int64_t length) {
    view *v = to->v;
    if (!length || to->failed) return;
    if (v->pieces && v->piece[v->pieces - 1][0] + v->piece[v->pieces - 1][1] == at) {
        v->piece[v->pieces - 1][1] += length;
        return;
    }
    if (v->pieces == to->room) {
        size_t room = to->room ? 2 * to->room : 16;
        void *larger = room <= MAX_PIECES ? realloc(v->piece, room * sizeof *v->piece) : NULL;
        to->failed = !larger;
        if (!larger) return;
        v->piece = larger;
        to->room = room;
    }
    v->piece[v->pieces][0] = at;
    v->piece[v->pieces++][1] = length;
}

static void walk(pieces *to, MPI_Datatype type, int64_t at);

/* `n` consecutive elements of a type. */
static void repeat(pieces *to, MPI_Datatype type, int64_t at, int64_t n) {
    if (to->failed) return;
    measures m = measure(type);
    if (m.size == m.extent && m.size == m.true_extent) {
        add(to, at + m.true_lower, n * m.size);
        return;
    }
    for (int64_t i = 0; i < n && !to->failed; i++) walk(to, type, at + i * m.extent);
}

/* Row by row; in Fortran order the first dimension is the fastest. */
static void subarray(pieces *to, const int64_t *number, MPI_Datatype type, int64_t at) {
    int n = (int)number[0], fastest = number[3 * n + 1] == MPI_ORDER_C ? n - 1 : 0, step = fastest ? -1 : 1;
    const int64_t *size = number + 1, *part = size + n, *start = part + n;
    int64_t index[MAX_DIMENSIONS] = {0}, stride[MAX_DIMENSIONS], extent = measure(type).extent;
    if (n < 1 || n > MAX_DIMENSIONS) {
        to->failed = true;
        return;
    }
    for (int i = 0, d = fastest; i < n; i++, d += step) {
        stride[d] = extent;
        extent *= size[d];
        at += start[d] * stride[d];
    }
    for (int i = 1; i && !to->failed;) {
        int64_t here = at;
        for (int d = 0; d < n; d++) here += index[d] * stride[d];
        repeat(to, type, here, part[fastest]);
        int d = fastest + step;
        for (i = 1; i < n && ++index[d] == part[d]; i++, d += step) index[d] = 0;
        i = i < n;
    }
}

/* One dimension of an array that is dealt out in blocks, and the process's place among `processes`. */
typedef struct {
    int64_t size, block, processes, place, stride;
} dealt;

/* What the process has of `n` dimensions, the slowest first. */
static void part_of(pieces *to, const dealt *d, int n, MPI_Datatype type, int64_t at) {
    int64_t round = d->processes * d->block;
    for (int64_t i = d->place * d->block; i < d->size && !to->failed; i += round) {
        int64_t some = d->size - i < d->block ? d->size - i : d->block;
        if (n == 1) repeat(to, type, at + i * d->stride, some);
        for (int64_t k = 0; n > 1 && k < some && !to->failed; k++)
            part_of(to, d + 1, n - 1, type, at + (i + k) * d->stride);
    }
}

/* Processes are counted row by row, whatever the order of the array. */
static void darray(pieces *to, const int64_t *number, MPI_Datatype type, int64_t at) {
    int64_t rank = number[1], n = number[2];
    const int64_t *size = number + 3, *how = size + n, *argument = how + n, *processes = argument + n;
    bool rows = processes[n] == MPI_ORDER_C;
    int64_t stride = measure(type).extent;
    dealt all[MAX_DIMENSIONS];
    to->failed |= n < 1 || n > MAX_DIMENSIONS;
    for (int64_t i = n - 1; i >= 0 && !to->failed; i--) {
        int64_t p = processes[i], block = argument[i];
        to->failed |= p < 1;
        if (to->failed) return;
        if (block == MPI_DISTRIBUTE_DFLT_DARG)
            block = how[i] == MPI_DISTRIBUTE_CYCLIC ? 1 : (size[i] + p - 1) / p;
        if (how[i] == MPI_DISTRIBUTE_NONE) block = size[i];
        to->failed |= block < 1;
        all[rows ? i : n - 1 - i] = (dealt){size[i], block, p, rank % p, 0};
        rank /= p;
    }
    for (int64_t i = n - 1; i >= 0 && !to->failed; i--) {
        all[i].stride = stride;
        stride *= all[i].size;
    }
    if (!to->failed) part_of(to, all, (int)n, type, at);
}

typedef struct {
    const int64_t *number; /* the constructor's arguments; places come last */
    const MPI_Datatype *type;
    int combiner;
} contents;

static void take_apart(pieces *to, const contents *c, int64_t at) {
    const int64_t *number = c->number;
    MPI_Datatype type = c->type[0];
    int64_t n = number[0], extent = measure(type).extent;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: walk(to, type, at); break;
    case MPI_COMBINER_CONTIGUOUS: repeat(to, type, at, n); break;
    case MPI_COMBINER_VECTOR:
        for (int64_t i = 0; i < n; i++) repeat(to, type, at + i * number[2] * extent, number[1]);
        break;
    case MPI_COMBINER_HVECTOR:
        for (int64_t i = 0; i < n; i++) repeat(to, type, at + i * number[2], number[1]);
        break;
    case MPI_COMBINER_INDEXED:
        for (int64_t i = 1; i <= n; i++) repeat(to, type, at + number[n + i] * extent, number[i]);
        break;
    case MPI_COMBINER_HINDEXED:
        for (int64_t i = 1; i <= n; i++) repeat(to, type, at + number[n + i], number[i]);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        for (int64_t i = 0; i < n; i++) repeat(to, type, at + number[2 + i] * extent, number[1]);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        for (int64_t i = 0; i < n; i++) repeat(to, type, at + number[2 + i], number[1]);
        break;
    case MPI_COMBINER_STRUCT:
        for (int64_t i = 0; i < n; i++) repeat(to, c->type[i], at + number[1 + n + i], number[1 + i]);
        break;
    case MPI_COMBINER_SUBARRAY: subarray(to, number, type, at); break;
    case MPI_COMBINER_DARRAY: darray(to, number, type, at); break;
    default: to->failed = true;
    }
}

/* How many of each kind of argument a type was made with, and may be asked for with `large` counts. */
typedef struct {
    MPI_Count numbers, places, counts, types;
    int combiner;
    bool large;
} envelope;

/* The program's library may be older. */
#define LOOK_UP_LARGE(AS, NAME, PARAMETERS)                                                                  \
    static int(*AS) PARAMETERS;                                                                              \
    if (!AS) AS = (int(*) PARAMETERS)recorder_next_or("P" #NAME, NULL)

static envelope envelope_of(MPI_Datatype type) {
    envelope e = {.combiner = MPI_COMBINER_NAMED};
#if MPI_VERSION >= 4
    LOOK_UP_LARGE(large, MPI_Type_get_envelope_c,
                  (MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *));
    e.large = large(type, &e.numbers, &e.places, &e.counts, &e.types, &e.combiner) == MPI_SUCCESS;
#endif
    if (e.large) return e;
    LOOK_UP(ask, MPI_Type_get_envelope, (MPI_Datatype, int *, int *, int *, int *));
    int numbers = 0, places = 0, types = 0;
    ask(type, &numbers, &places, &types, &e.combiner);
    return (envelope){.numbers = numbers, .places = places, .types = types, .combiner = e.combiner};
}

static bool ask_contents(MPI_Datatype type, const envelope *e, int *number, MPI_Aint *place, MPI_Count *count,
                         MPI_Datatype *of) {
#if MPI_VERSION >= 4
    LOOK_UP_LARGE(large, MPI_Type_get_contents_c,
                  (MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[], MPI_Aint[], MPI_Count[],
                   MPI_Datatype[]));
    if (e->large)
        return large(type, e->numbers, e->places, e->counts, e->types, number, place, count, of) ==
               MPI_SUCCESS;
#endif
    (void)count;
    LOOK_UP(ask, MPI_Type_get_contents, (MPI_Datatype, int, int, int, int[], MPI_Aint[], MPI_Datatype[]));
    return ask(type, (int)e->numbers, (int)e->places, (int)e->types, number, place, of) == MPI_SUCCESS;
}

static void release(MPI_Datatype *type) {
    LOOK_UP(ask, MPI_Type_free, (MPI_Datatype *));
    if (envelope_of(*type).combiner != MPI_COMBINER_NAMED) ask(type);
}

/* The arguments in the order of the constructor's call: an array's shape is large counts among numbers, and
 * all else is of one kind. Places follow. */
static void in_order(const envelope *e, const int *number, const MPI_Aint *place, const MPI_Count *count,
                     int64_t *all) {
    MPI_Count first = e->combiner == MPI_COMBINER_DARRAY ? 3 : 1;
    if (first > e->numbers) first = e->numbers;
    for (MPI_Count i = 0; i < first; i++) *all++ = number[i];
    for (MPI_Count i = 0; i < e->counts; i++) *all++ = count[i];
    for (MPI_Count i = first; i < e->numbers; i++) *all++ = number[i];
    for (MPI_Count i = 0; i < e->places; i++) *all++ = place[i];
}

static void walk(pieces *to, MPI_Datatype type, int64_t at) {
    measures m = measure(type);
    if (to->failed) return;
    if (m.size == m.true_extent) {
        add(to, at + m.true_lower, m.size);
        return;
    }
    envelope e = envelope_of(type);
    int *number = calloc((size_t)e.numbers + 1, sizeof *number);
    MPI_Aint *place = calloc((size_t)e.places + 1, sizeof *place);
    MPI_Count *count = calloc((size_t)e.counts + 1, sizeof *count);
    MPI_Datatype *types = calloc((size_t)e.types + 1, sizeof(MPI_Datatype));
    int64_t *all = calloc((size_t)(e.numbers + e.counts + e.places) + 1, sizeof *all);
    to->failed = e.combiner == MPI_COMBINER_NAMED || !number || !place || !count || !types || !all ||
                 !ask_contents(type, &e, number, place, count, types);
    if (!to->failed) {
        in_order(&e, number, place, count, all);
        take_apart(to, &(contents){all, types, e.combiner}, at);
        for (MPI_Count i = 0; i < e.types; i++) release(&types[i]);
    }
    free(number);
    free(place);
    free(count);
    free(types);
    free(all);
}

view view_of(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type) {
    measures m = measure(type);
    view v = {
        .word = {displacement, m.extent, m.size, size_of(element)}
    };
    pieces to = {.v = &v};
    walk(&to, type, 0);
    if (to.failed) v.pieces = 0;
    return v;
}
