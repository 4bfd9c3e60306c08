/* SPDX-License-Identifier: BSD-3-Clause */
/* Geometry: the share of each process in a chunk, and copying it. Computed from the boxes, without
 * communication. */
#include <string.h>

#include "methods/twophase.h"

io_part twophase_box(const twophase_exchange *w, int rank, int i) {
    io_part part = {.dataset = w->parts->dataset};
    const uint64_t *box = w->boxes + ((size_t)rank * (size_t)w->stride + (size_t)i) * TWOPHASE_BOX;
    memcpy(part.start, box, sizeof part.start);
    memcpy(part.count, box + IO_MAX_DIMS, sizeof part.count);
    return part;
}

/* The first element that begins at or after a byte of the file. */
static uint64_t element_at(const twophase_exchange *w, uint64_t byte) {
    uint64_t element = byte <= w->base ? 0 : (byte - w->base + w->size - 1) / w->size;
    return element < w->lo ? w->lo : element > w->hi ? w->hi : element;
}

void twophase_chunk(const twophase_exchange *w, uint64_t chunk, uint64_t *first, uint64_t *end) {
    uint64_t bytes = w->file->options->buffer;
    *first = element_at(w, chunk * bytes);
    *end = element_at(w, (chunk + 1) * bytes);
}

uint64_t twophase_share(const twophase_exchange *w, int rank, uint64_t first, uint64_t end, uint64_t *at) {
    uint64_t earlier = 0, elements = 0;
    *at = 0;
    for (int i = 0; i < w->n; i++) {
        io_part part = twophase_box(w, rank, i);
        uint64_t from = io_part_before(w->file->posix.base.schema, &part, first);
        uint64_t to = io_part_before(w->file->posix.base.schema, &part, end);
        if (!elements) *at = (earlier + from) * w->size;
        elements += to - from;
        earlier += io_part_elements(w->file->posix.base.schema, &part);
    }
    return elements * w->size;
}

static void turn2(char *to, const char *from, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 2) {
        uint16_t x;
        memcpy(&x, from + i, 2);
        x = __builtin_bswap16(x);
        memcpy(to + i, &x, 2);
    }
}

static void turn4(char *to, const char *from, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 4) {
        uint32_t x;
        memcpy(&x, from + i, 4);
        x = __builtin_bswap32(x);
        memcpy(to + i, &x, 4);
    }
}

static void turn8(char *to, const char *from, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t x;
        memcpy(&x, from + i, 8);
        x = __builtin_bswap64(x);
        memcpy(to + i, &x, 8);
    }
}

void twophase_swap_bytes(uint64_t swap, char *to, const char *from, uint64_t bytes) {
    if (swap == 8)
        turn8(to, from, bytes);
    else if (swap == 4)
        turn4(to, from, bytes);
    else if (swap == 2)
        turn2(to, from, bytes);
    else
        memmove(to, from, bytes);
}

/* The contiguous pieces of a rank's share of some elements. */
typedef struct {
    const twophase_exchange *exchange;
    int rank, part;
    uint64_t first, end; /* of the data set */
    uint64_t at, to;     /* of the part */
    io_runs runs;
} pieces;

static pieces pieces_of(const twophase_exchange *w, int rank, uint64_t first, uint64_t end) {
    return (pieces){.exchange = w, .rank = rank, .part = -1, .first = first, .end = end};
}

static bool next_piece(pieces *p, uint64_t *element, uint64_t *n) {
    const io_schema *schema = p->exchange->file->posix.base.schema;
    while (p->at == p->to || !io_runs_next(&p->runs)) {
        if (++p->part >= p->exchange->n) return false;
        io_part part = twophase_box(p->exchange, p->rank, p->part);
        p->at = io_part_before(schema, &part, p->first);
        p->to = io_part_before(schema, &part, p->end);
        if (p->at != p->to) p->runs = io_runs_from(schema, &part, p->at);
    }
    uint64_t skip = p->at - p->runs.local, left = p->runs.length - skip;
    *element = p->runs.global + skip;
    *n = left < p->to - p->at ? left : p->to - p->at;
    p->at += *n;
    return true;
}

void twophase_copy(const twophase_exchange *w, int rank, uint64_t first, uint64_t end, char *buffer,
                   char *share, bool in) {
    uint64_t element, n;
    for (pieces p = pieces_of(w, rank, first, end); next_piece(&p, &element, &n);) {
        char *there = buffer + (element - first) * w->size;
        twophase_swap_bytes(w->swap, in ? there : share, in ? share : there, n * w->size);
        share += n * w->size;
    }
}

static void move_run(twophase_exchange *w, uint64_t element, uint64_t n, char *data) {
    if (w->failed) return;
    if (io_posix_move_at(&w->file->posix, w->writing, data, n * w->size, w->base + element * w->size))
        w->failed = true;
}

void twophase_move_chunk(twophase_exchange *w, uint64_t first, uint64_t end, char *buffer) {
    int ranks = w->file->posix.base.ctx->size;
    uint64_t there = 0, at, element, n;
    for (int rank = 0; !w->dense && rank < ranks; rank++) there += twophase_share(w, rank, first, end, &at);
    if (!w->dense && !there) return;
    if (w->dense || !w->writing || there == (end - first) * w->size) {
        move_run(w, first, end - first, buffer);
        return;
    }
    /* Only elements with an owner: the gaps between them must not be written. */
    for (int rank = 0; rank < ranks; rank++)
        for (pieces p = pieces_of(w, rank, first, end); next_piece(&p, &element, &n);)
            move_run(w, element, n, buffer + (element - first) * w->size);
}

twophase_aggregator *twophase_place(const twophase_exchange *w, uint64_t chunk, uint64_t *number) {
    uint64_t all = (uint64_t)w->file->naggregators;
    twophase_aggregator *a = &w->file->aggregators[chunk % all];
    /* The aggregator's first chunk of this data set is among the data set's first `all` chunks. */
    uint64_t first = w->first + (chunk % all + all - w->first % all) % all;
    *number = a->chunks + (chunk - first) / all;
    return a;
}

char *twophase_buffer(const twophase_file *f, const twophase_aggregator *a, uint64_t number) {
    return a->buffers + number % f->options->rounds * f->room;
}
