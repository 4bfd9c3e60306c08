/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/json_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_json(const json_t *document, const char *path, io_error *error) {
    if (!document) return io_fail(error, "out of memory for the result document");
    if (!strcmp(path, "-")) {
        if (json_dumpf(document, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout))
            return io_fail_errno(error, "--json", "stdout", errno);
        return 0;
    }
    errno = 0;
    if (!json_dump_file(document, path, JSON_INDENT(1))) return 0;
    return io_fail_errno(error, "--json", path, errno);
}

/* The errno with which writing would fail, or 0. */
static int why_not(const char *path) {
    struct stat there;
    if (!stat(path, &there)) {
        if (S_ISDIR(there.st_mode)) return EISDIR;
        if (S_ISBLK(there.st_mode)) return EPERM; /* a disk */
        return access(path, W_OK) ? errno : 0;
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!folder) return ENOMEM;
    int problem = access(folder, W_OK | X_OK) ? errno : 0;
    free(folder);
    return problem;
}

int io_check_json(const char *path, io_error *error) {
    if (!strcmp(path, "-")) return 0;
    int problem = why_not(path);
    return problem ? io_fail_errno(error, "--json", path, problem) : 0;
}
