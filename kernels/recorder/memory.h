/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory from the kernel, not by malloc(), which a signal's handler that opens or writes a file may have
 * interrupted, and which may do so itself. Nothing is given back. With the lock held. */
#ifndef RECORDER_MEMORY_H
#define RECORDER_MEMORY_H

#include <stddef.h>

typedef struct {
    char *at;
    size_t left;
} memory_store;

/* `old` with more room, which is empty; NULL on failure, and `old` stays. */
void *memory_larger(memory_store *from, void *old, size_t had, size_t wanted);
/* Grows a list by at least one entry, if it is full; NULL on failure. */
void *memory_list(memory_store *from, void *list, size_t used, size_t *room, size_t each);

#endif
