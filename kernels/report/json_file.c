/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/json_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
