/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include <stdlib.h>

#include "paths.h"
#include "state.h"

/* Grows a list by at least one entry; NULL on failure. */
static void *room_for_one(void *list, size_t used, size_t *room, size_t each) {
    if (used < *room) return list;
    size_t more = *room ? 2 * *room : 64;
    void *larger = realloc(list, more * each);
    if (larger) *room = more;
    return larger;
}

void event_add(const record *r, int kind, int64_t a, int64_t b, double start, double end) {
    recorder *the = recorder_state();
    bool of_file = kind != EVENT_MEET && kind != EVENT_MESSAGE && kind != EVENT_SEND &&
                   kind != EVENT_RECEIVE && kind != EVENT_CHANGED && kind != EVENT_LOOKED;
    if (!the->most_segments || (!r && of_file)) return;
    event_list *all = &the->events;
    event *larger = all->used < the->most_segments
                        ? room_for_one(all->entry, all->used, &all->room, sizeof *larger)
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

/* The last event, if it is of this kind and nothing came after it. */
static event *last_of(int kind) {
    const recorder *the = recorder_state();
    event *last = the->events.used ? &the->events.entry[the->events.used - 1] : NULL;
    return last && last->kind == kind && last->sequence + 1 == the->sequence ? last : NULL;
}

/* All between two accesses become one. */
void event_message(int ways, double start, double end) {
    event *last = last_of(EVENT_MESSAGE);
    if (!last) {
        event_add(NULL, EVENT_MESSAGE, ways, 0, start, end);
        return;
    }
    last->a |= ways;
    last->end = end;
}

void event_path(int kind, const char *path, double start, double end) {
    const recorder *the = recorder_state();
    char clean[RECORDER_PATH];
    if (!path_clean(path, clean) || !path_wanted(the->include, clean)) return;
    int64_t key = (int64_t)record_id(clean);
    event *last = last_of(kind);
    if (last && last->b == key)
        last->end = end; /* asked in a loop */
    else
        event_add(NULL, kind, 0, key, start, end);
}

void event_view(const record *r, view *v, double start, double end) {
    view_list *all = &recorder_state()->views;
    view *larger = r ? room_for_one(all->entry, all->used, &all->room, sizeof *larger) : NULL;
    if (!larger) {
        if (r) recorder_partial();
        free(v->piece);
        return;
    }
    all->entry = larger;
    larger[all->used] = *v;
    event_add(r, EVENT_VIEW, (int64_t)all->used++, 0, start, end);
}
