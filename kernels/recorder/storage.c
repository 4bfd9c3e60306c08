/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that this process read from storage, of the ceilings' files and of all others apart. They are
 * asked for only when a file of the other kind is opened. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "paths.h"
#include "state.h"

#define CEILING "/iogauge-ceiling" /* kernels/driver/ceilings.c */

static bool ask(uint64_t *bytes) {
    char line[128];
    bool found = false;
    FILE *in = fopen("/proc/self/io", "r");
    while (in && !found && fgets(line, sizeof line, in))
        found = sscanf(line, "read_bytes: %" SCNu64, bytes) == 1;
    if (in) fclose(in);
    return found;
}

static void count(storage_reads *of, storage_kind next) {
    uint64_t now;
    if (!ask(&now)) return;
    of->bytes[of->kind] += now - of->before;
    of->before = now;
    of->kind = next;
}

void recorder_storage_of(const char *path) {
    storage_reads *of = &recorder_state()->storage;
    const char *name = strrchr(path, '/');
    storage_kind kind = name && !strncmp(name, CEILING, strlen(CEILING)) ? STORAGE_CEILINGS : STORAGE_OWN;
    if (of->kind != kind) count(of, kind);
}

void recorder_write_storage(recorder *the) {
    char path[RECORDER_PATH];
    storage_reads *of = &the->storage;
    if (of->kind == STORAGE_NONE) return;
    count(of, of->kind);
    snprintf(path, sizeof path, "%s/storage-%06d-%d", the->folder, the->rank, (int)the->pid);
    FILE *out = fopen(path, "w");
    if (out) fprintf(out, "%" PRIu64 " %" PRIu64 "\n", of->bytes[STORAGE_OWN], of->bytes[STORAGE_CEILINGS]);
    if (!out || fclose(out)) fprintf(stderr, "iogauge recorder: %s cannot be written\n", path);
}
