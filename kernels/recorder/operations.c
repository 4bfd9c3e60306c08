/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on the paths of the run's own files: how often, of how many files, and their seconds; and each first
 * fsync after writing. Folders: how often one was read, how many entries were found, and the seconds from
 * opening to closing. Darshan's log has no removals and no folders, and does not tell a path's look-up from a
 * descriptor's. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

#include "paths.h"
#include "posix.h"

static const char *const operation_name[OPERATIONS] = {"stat", "remove", "flush", "create"};

void recorder_operation(record *r, int operation, double seconds) {
    if (r->kind != STORAGE_OWN) return;
    r->called[operation]++;
    recorder_state()->operation_seconds[operation] += seconds;
}

/* The folder that this thread reads. No clock is read for an entry: that takes as long as the entry does. */
static _Thread_local struct {
    const DIR *folder;
    double start;
    int64_t entries;
} in;

EXPORT DIR *opendir(const char *path) {
    double start = recorder_now(); /* looking `next` up takes longer than to read a small folder */
    NEXT(DIR *, opendir, (const char *));
    char clean[RECORDER_PATH];
    DIR *folder = next(path);
    if (!folder || !recorder_on()) return folder;
    if (path_wanted(recorder_state()->include, path, clean))
        in.folder = folder, in.start = start, in.entries = 0;
    return folder;
}

#define WRAP_READDIR(NAME, ENTRY)                                                                            \
    EXPORT struct ENTRY *NAME(DIR *folder) {                                                                 \
        NEXT(struct ENTRY *, NAME, (DIR *));                                                                 \
        struct ENTRY *entry = next(folder);                                                                  \
        if (entry && folder == in.folder && *entry->d_name != '.') in.entries++;                             \
        return entry;                                                                                        \
    }
WRAP_READDIR(readdir, dirent)
WRAP_READDIR(readdir64, dirent64)

void recorder_folder_closed(const void *folder) {
    if (!in.folder || in.folder != folder) return;
    in.folder = NULL;
    recorder_lock();
    recorder *the = recorder_state();
    the->folders++;
    the->entries += in.entries;
    the->folder_seconds += recorder_now() - in.start;
    recorder_unlock();
}

void recorder_write_operations(recorder *the) {
    output *out = &the->out;
    int64_t calls[OPERATIONS] = {0}, files[OPERATIONS] = {0}, all = the->folders;
    for (const record *r = the->all; r; r = r->all)
        for (int i = 0; i < OPERATIONS; i++) {
            calls[i] += r->called[i];
            files[i] += r->called[i] > 0;
            all += r->called[i];
        }
    if (!all) return;
    output_begin(out, "operations", "");
    for (int i = 0; i < OPERATIONS; i++)
        output_print(out, "%s %" PRId64 " %" PRId64 " %.9f\n", operation_name[i], calls[i], files[i],
                     the->operation_seconds[i]);
    output_print(out, "readdir %" PRId64 " %" PRId64 " %.9f\n", the->folders, the->entries,
                 the->folder_seconds);
    output_end(out);
}
