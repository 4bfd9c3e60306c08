/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "methods/ioserver.h"

/* Layout: path, schema, dimensions, data sets, then the names of all of these and of the attributes, in
 * this order, each with its 0. Client and server are the same program. */
typedef struct {
    char *at; /* NULL: only counts */
    uint64_t bytes;
} packing;

static void put(packing *p, const void *data, uint64_t bytes) {
    if (p->at) memcpy(p->at + p->bytes, data, bytes);
    p->bytes += bytes;
}

static void put_text(packing *p, const char *text) { put(p, text, strlen(text) + 1); }

static void put_all(packing *p, const char *path, const io_schema *s) {
    char name[IO_MAX_PATH] = "";
    memcpy(name, path, strnlen(path, sizeof name - 1));
    put(p, name, sizeof name);
    put(p, s, sizeof *s);
    put(p, s->dims, (uint64_t)s->ndims * sizeof *s->dims);
    put(p, s->datasets, (uint64_t)s->ndatasets * sizeof *s->datasets);
    for (int i = 0; i < s->ndims; i++) put_text(p, s->dims[i].name);
    for (int i = 0; i < s->ndatasets; i++) {
        put_text(p, s->datasets[i].name);
        if (s->datasets[i].node) put_text(p, s->datasets[i].node);
    }
    for (int i = 0; i < s->nattributes; i++) put_text(p, s->attributes[i].name);
}

void *ioserver_pack(const char *path, const io_schema *schema, uint64_t *bytes) {
    packing p = {0};
    put_all(&p, path, schema);
    *bytes = p.bytes;
    p = (packing){.at = malloc(p.bytes)};
    if (p.at) put_all(&p, path, schema);
    return p.at;
}

static const char *take_name(char **at) {
    const char *name = *at;
    *at += strlen(name) + 1;
    return name;
}

void ioserver_unpack(void *packed, io_schema *s) {
    char *at = (char *)packed + IO_MAX_PATH;
    memcpy(s, at, sizeof *s);
    io_dim *dims = (io_dim *)(void *)(at + sizeof *s);
    io_dataset *datasets = (io_dataset *)(dims + s->ndims);
    at = (char *)(datasets + s->ndatasets);
    for (int i = 0; i < s->ndims; i++) dims[i].name = take_name(&at);
    for (int i = 0; i < s->ndatasets; i++) {
        datasets[i].name = take_name(&at);
        if (datasets[i].node) datasets[i].node = take_name(&at);
        datasets[i].small = true;
        datasets[i].nmembers = 0; /* servers see bytes */
        datasets[i].members = NULL;
    }
    for (int i = 0; i < s->nattributes; i++) s->attributes[i].name = take_name(&at);
    s->dims = dims;
    s->datasets = datasets;
    s->nuser_attributes = 0; /* files written by servers cannot hold them */
}

bool ioserver_next_piece(pieces *p, io_part *piece) {
    const io_part *part = p->part;
    const io_dataset *d = &p->schema->datasets[part->dataset];
    uint64_t size = io_type_size(d->type), below = 1, row = part->count[d->ndims - 1];
    uint64_t most = p->most / size;
    if (p->at >= io_part_elements(p->schema, part)) return false;
    /* The dimension to split: the last one with small enough slices. Rows that are Fortran records are never
     * split. */
    int cut = d->ndims - 1;
    if (p->schema->records) below = row, cut--;
    while (cut > 0 && below * part->count[cut] <= most) below *= part->count[cut--];
    *piece = *part;
    uint64_t rest = p->at / below, count = 1;
    for (int i = cut; i >= 0; i--) {
        uint64_t position = rest % part->count[i];
        rest /= part->count[i];
        uint64_t left = part->count[i] - position;
        piece->start[i] += position;
        piece->count[i] = 1;
        if (i != cut) continue;
        if (most / below > 1) count = most / below;
        if (count > left) count = left;
        piece->count[i] = count;
    }
    piece->offset += p->at * size;
    if (p->schema->records) piece->frames += p->at / row * 2 * sizeof(int32_t);
    piece->data = (char *)part->data + p->at * size;
    p->at += count * below;
    return true;
}
