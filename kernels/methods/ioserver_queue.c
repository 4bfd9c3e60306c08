/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "methods/ioserver.h"

int ioserver_queue_start(queue *q, uint64_t limit) {
    *q = (queue){.arena = malloc(limit), .limit = limit};
    q->last = &q->first;
    if (!q->arena) return -1;
    memset(q->arena, 0, limit); /* touch the pages, so that page faults are not timed */
    return 0;
}

void ioserver_queue_drop(queue *q) {
    entry *e = q->first;
    q->first = e->next;
    if (!q->first) q->last = &q->first;
    q->used -= e->spent;
    q->begin = (q->begin + e->spent) % q->limit;
    if (!q->used) q->begin = q->end = 0;
    if (!e->spent) free(e->data);
    free(e);
}

void ioserver_queue_stop(queue *q) {
    while (q->first) ioserver_queue_drop(q);
    free(q->arena);
}

/* Data is contiguous: too small a rest at the end of the arena is skipped. */
static char *place(queue *q, uint64_t bytes, uint64_t *spent) {
    uint64_t tail = q->limit - q->end;
    bool wraps = q->end >= q->begin && bytes > tail && (q->used || q->end);
    *spent = bytes + (wraps ? tail : 0);
    if (*spent > q->limit - q->used) return NULL;
    char *at = q->arena + (wraps ? 0 : q->end);
    q->end = (q->end + *spent) % q->limit;
    q->used += *spent;
    if (q->used > q->peak) q->peak = q->used;
    return at;
}

bool ioserver_queue_add(queue *q, const header *head, int client, entry **added) {
    entry *e = calloc(1, sizeof *e);
    *added = e;
    if (!e) return true;
    e->head = *head;
    e->client = client;
    if (head->request == REQUEST_WRITE)
        e->data = place(q, head->bytes, &e->spent);
    else if (head->bytes)
        e->data = malloc(head->bytes);
    if (head->bytes && !e->data) {
        free(e);
        *added = NULL;
        return head->request != REQUEST_WRITE;
    }
    *q->last = e;
    q->last = &e->next;
    return true;
}
