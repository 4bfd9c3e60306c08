/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)
#define APART ((size_t)1 << 16) /* from here on, a separate mapping */
#define ALIGNED ((size_t)16)

/* By a system call, as mmap() is recorded. */
static void *mapped(size_t size) {
    long at = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == -1 ? NULL : (void *)at;
}

static void *piece(memory_store *from, size_t size) {
    size = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (size > from->left) {
        char *chunk = mapped(CHUNK);
        if (!chunk) return NULL;
        *from = (memory_store){chunk, CHUNK};
    }
    void *found = from->at;
    from->at += size;
    from->left -= size;
    return found;
}

void *memory_larger(memory_store *from, void *old, size_t had, size_t wanted) {
    /* In place only: a signal's handler may end the program before the caller has the new address. Not
     * mremap(), which MPI libraries replace. */
    if (had >= APART && syscall(SYS_mremap, old, had, wanted, 0) != -1) return old;
    void *new = wanted >= APART ? mapped(wanted) : piece(from, wanted);
    if (new && had) memcpy(new, old, had);
    return new;
}

void *memory_list(memory_store *from, void *list, size_t used, size_t *room, size_t each) {
    if (used < *room) return list;
    size_t more = *room ? 2 * *room : 64;
    void *larger = memory_larger(from, list, *room * each, more * each);
    if (larger) *room = more;
    return larger;
}
