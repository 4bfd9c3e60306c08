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
    if (!folder || !recorder_on() || !path_clean(path, clean)) return folder;
    if (path_wanted(recorder_state()->include, clean)) in.folder = folder, in.start = start, in.entries = 0;
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

EXPORT int closedir(DIR *folder) {
    NEXT(int, closedir, (DIR *));
    bool ours = in.folder && in.folder == folder;
    int result = next(folder);
    if (!ours) return result;
    in.folder = NULL;
    recorder_lock();
    recorder *the = recorder_state();
    the->folders++;
    the->entries += in.entries;
    the->folder_seconds += recorder_now() - in.start;
    recorder_unlock();
    return result;
}

void recorder_write_operations(const recorder *the) {
    char path[RECORDER_PATH];
    int64_t calls[OPERATIONS] = {0}, files[OPERATIONS] = {0}, all = the->folders;
    for (const record *r = the->all; r; r = r->all)
        for (int i = 0; i < OPERATIONS; i++) {
            calls[i] += r->called[i];
            files[i] += r->called[i] > 0;
            all += r->called[i];
        }
    if (!all) return;
    snprintf(path, sizeof path, "%s/operations-%06d-%d", the->folder, the->rank, (int)the->pid);
    FILE *out = fopen(path, "w");
    for (int i = 0; out && i < OPERATIONS; i++)
        fprintf(out, "%s %" PRId64 " %" PRId64 " %.9f\n", operation_name[i], calls[i], files[i],
                the->operation_seconds[i]);
    if (out)
        fprintf(out, "readdir %" PRId64 " %" PRId64 " %.9f\n", the->folders, the->entries,
                the->folder_seconds);
    if (!out || fclose(out)) fprintf(stderr, "iogauge recorder: %s cannot be written\n", path);
}
