/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "state.h"

#define MOST_TURNS 32 /* events to look back over */
#define HASHED 1024   /* bytes of a shape */

void event_add(const record *r, int kind, int64_t a, int64_t b, double start, double end) {
    recorder *the = recorder_state();
    bool of_file = kind != EVENT_MEET && kind != EVENT_MESSAGE && kind != EVENT_SEND &&
                   kind != EVENT_RECEIVE && kind != EVENT_CHANGED && kind != EVENT_LOOKED &&
                   kind != EVENT_DATA_SET;
    if (!the->most_segments || (!r && of_file)) return;
    event_list *all = &the->events;
    event *larger = all->used < the->most_segments ? memory_list(&recorder_state()->memory, all->entry,
                                                                 all->used, &all->room, sizeof *larger)
                                                   : NULL;
    if (!larger) {
        recorder_partial();
        return;
    }
    all->entry = larger;
    larger[all->used++] = (event){r ? record_id(r->path) : 0,
                                  a,
                                  b,
                                  start,
                                  end,
                                  the->sequence++,
                                  (uint16_t)kind,
                                  (uint16_t)(r ? r->module : MODULE_MPIIO)};
}

/* The last event of this kind and key, if since then others at most looked or passed messages: a process
 * that waits asks for several things by turns. */
static event *last_of(int kind, int64_t key) {
    const recorder *the = recorder_state();
    event *end = the->events.entry + the->events.used;
    for (uint32_t back = 1; back <= MOST_TURNS && back <= the->events.used; back++) {
        event *e = end - back;
        if (e->sequence + back != the->sequence) return NULL; /* an access came between */
        if (e->kind == kind && e->b == key) return e;
        if (e->kind != EVENT_LOOKED && e->kind != EVENT_MESSAGE) return NULL;
    }
    return NULL;
}

/* Adds to the last event of its kind and key if there was no access since. */
static void add_or_merge(int kind, int64_t a, int64_t key, double start, double end) {
    event *last = last_of(kind, key);
    if (!last) {
        event_add(NULL, kind, a, key, start, end);
        return;
    }
    last->a |= a;
    last->end = end;
}

void event_message(int ways, const record *of, double start, double end) {
    add_or_merge(EVENT_MESSAGE, ways, of ? (int64_t)record_id(of->path) : 0, start, end);
}

void event_path(int kind, const char *path, double start, double end) {
    char clean[RECORDER_PATH];
    if (!path_wanted(recorder_state()->include, path, clean)) return;
    add_or_merge(kind, 0, (int64_t)record_id(clean), start, end);
}

void event_view(const record *r, view *v, double start, double end) {
    view_list *all = &recorder_state()->views;
    view *larger =
        r ? memory_list(&recorder_state()->memory, all->entry, all->used, &all->room, sizeof *larger) : NULL;
    if (!larger) {
        if (r) recorder_partial();
        free(v->piece);
        return;
    }
    all->entry = larger;
    larger[all->used] = *v;
    event_add(r, EVENT_VIEW, (int64_t)all->used++, 0, start, end);
}

void shapes_forget(void) {
    shape_list *all = &recorder_state()->shapes;
    if (!all->used) return; /* the buckets are large, and perhaps still the parent's pages */
    for (size_t i = 0; i < all->used; i++) free(all->entry[i]);
    memset(all->bucket, 0, sizeof all->bucket);
    all->used = all->bytes = 0;
}

/* The hash is FNV-1a. */
int64_t shape_number(const void *data, size_t size) {
    shape_list *all = &recorder_state()->shapes;
    const unsigned char *byte = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size && i < HASHED; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
    shape **bucket = &all->bucket[hash % SHAPE_BUCKETS];
    for (const shape *s = *bucket; s; s = s->next)
        if (s->size == size && !memcmp(s->data, data, size)) return (int64_t)s->number;
    shape **larger =
        memory_list(&recorder_state()->memory, all->entry, all->used, &all->room, sizeof *larger);
    if (larger) all->entry = larger;
    shape *made = larger ? malloc(sizeof *made + size) : NULL;
    if (!made) {
        recorder_partial();
        return -1;
    }
    *made = (shape){.next = *bucket, .number = all->used++, .size = size};
    memcpy(made->data, data, size);
    all->entry[made->number] = *bucket = made;
    all->bytes += size;
    return (int64_t)made->number;
}
