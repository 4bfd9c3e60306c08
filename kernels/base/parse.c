/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsers of option values. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

/* A positive number; *end is set to the first character after it. 0 on error. */
static uint64_t number(const char *text, char **end) {
    errno = 0;
    if (!isdigit((unsigned char)*text)) return 0;
    unsigned long long n = strtoull(text, end, 10);
    return errno || n > INT64_MAX ? 0 : n;
}

int io_parse_count(const char *option, const char *text, uint64_t *value, io_error *error) {
    char *end;
    *value = number(text, &end);
    if (*value && !*end) return 0;
    return io_fail_usage(error, "%s %s: expected a positive integer, such as %s 4", option, text, option);
}

int io_parse_size(const char *option, const char *text, uint64_t *bytes, io_error *error) {
    static const char units[] = "kmgt";
    char *end;
    uint64_t n = number(text, &end), factor = 1;
    if (n && *end) {
        const char *unit = strchr(units, tolower((unsigned char)*end));
        if (unit && !end[1])
            for (const char *u = units; u <= unit; u++) factor *= 1024;
        else
            n = 0;
    }
    if (n && !__builtin_mul_overflow(n, factor, bytes) && *bytes <= INT64_MAX) return 0;
    return io_fail_usage(
        error, "%s %s: expected a size in bytes, or with k, m, g or t (powers of 1024), such as %s 4m",
        option, text, option);
}

int io_parse_grid(const char *option, const char *text, uint64_t grid[3], io_error *error) {
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char *end;
        grid[i] = number(at, &end);
        if (!grid[i] || *end != (i < 2 ? 'x' : '\0'))
            return io_fail_usage(error, "%s %s: expected three positive integers XxYxZ, such as %s 4x2x2",
                                 option, text, option);
        at = end + 1;
    }
    return 0;
}
