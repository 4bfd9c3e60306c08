/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that this process read from storage, of the ceilings' files and of all others apart: from the
 * first read of an open file to its close. What is read before, into the page cache, does not count. And the
 * messages that it passed while a file of the ceilings, or of direct writing, was open: none, unless
 * processes wait for each other. And its memory then, and whether a file is in memory; how many of these
 * files were opened to be slow, and how many of all were made where there was one with data. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "paths.h"
#include "state.h"

#define SLOW (O_DIRECT | O_DSYNC)
#define MOST_LOOKS 512 /* then all counts, also between files: very many small files stay cheap */

static bool ask(uint64_t *bytes) {
    char text[1024];
    const char *found =
        output_read("/proc/self/io", text, sizeof text) ? strstr(text, "\nread_bytes: ") : NULL;
    return found && sscanf(found, " read_bytes: %" SCNu64, bytes) == 1;
}

/* Bytes belong to the kind that is read: ceilings are never measured beside other files. */
static void count(storage_use *use, storage_kind kind) {
    uint64_t now;
    if (!use->known || !ask(&now)) return;
    use->bytes[kind] += now - use->before;
    use->before = now;
}

void recorder_storage_opened(description *d, int flags, bool full) {
    storage_use *use = &recorder_state()->storage;
    storage_kind kind = d->file->kind;
    use->slowed += kind != STORAGE_OWN && flags & SLOW;
    use->full += full;
    if (use->looks > MOST_LOOKS && kind != use->last) count(use, use->last);
    use->last = kind;
    use->open[kind]++;
    use->used = true;
}

static int readers(const storage_use *use) {
    int all = 0;
    for (int kind = 0; kind < STORAGE_KINDS; kind++) all += use->reading[kind];
    return all;
}

void recorder_storage_reads(description *d) {
    storage_use *use = &recorder_state()->storage;
    if (d->reads) return;
    if (!readers(use) && ++use->looks <= MOST_LOOKS) {
        struct rusage usage;
        use->known = ask(&use->before);
        if (!getrusage(RUSAGE_SELF, &usage)) use->peak = (int64_t)usage.ru_maxrss * 1024;
    }
    d->reads = true;
    use->reading[d->file->kind]++;
}

void recorder_storage_closed(description *d) {
    storage_use *use = &recorder_state()->storage;
    storage_kind kind = d->file->kind;
    if (use->open[kind]) use->open[kind]--;
    if (!d->reads || !use->reading[kind]) return; /* opened before a fork */
    if (readers(use) == 1 && use->looks <= MOST_LOOKS) count(use, kind);
    use->reading[kind]--;
}

void recorder_storage_message(void) {
    storage_use *use = &recorder_state()->storage;
    if (use->open[STORAGE_CEILINGS] || use->open[STORAGE_DIRECT]) use->messages++;
}

void recorder_write_storage(recorder *the) {
    storage_use *use = &the->storage;
    if (!use->used) return;
    if (readers(use) || use->looks > MOST_LOOKS) count(use, use->last);
    output_begin(&the->out, "storage", "");
    output_print(&the->out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %d %d %d\n",
                 use->bytes[STORAGE_OWN] + use->bytes[STORAGE_DIRECT], use->bytes[STORAGE_CEILINGS],
                 use->messages, use->peak, use->memory, use->slowed, use->full);
    output_end(&the->out);
}
