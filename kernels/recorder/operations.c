/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on the paths of files: how often, of how many files, and their seconds. Darshan's log has no
 * removals, and does not tell a path's look-up from a descriptor's. */
#include <inttypes.h>
#include <stdio.h>

#include "paths.h"
#include "state.h"

static const char *const operation_name[OPERATIONS] = {"stat", "remove"};

void recorder_operation(record *r, int operation, double seconds) {
    r->called[operation]++;
    recorder_state()->operation_seconds[operation] += seconds;
}

void recorder_write_operations(const recorder *the) {
    char path[RECORDER_PATH];
    int64_t calls[OPERATIONS] = {0}, files[OPERATIONS] = {0}, all = 0;
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
    if (!out || fclose(out)) fprintf(stderr, "iogauge recorder: %s cannot be written\n", path);
}
