/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks hints before a library sees them: a cb_buffer_size of 0 or above INT_MAX crashes ROMIO in Open MPI
 * with SIGFPE. */
#include "base/known_hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const io_known_hint known[] = {
#define IO_KNOWN_HINT(name, library, since, until, kind, values, what)                                       \
    {name, IO_HINTS_OF_##library, since, until, IO_HINT_##kind, values, what},
#include "base/known_hints.def"
#undef IO_KNOWN_HINT
};
#define KNOWN (sizeof known / sizeof *known)

static const char *const libraries[IO_HINT_LIBRARIES] = {
    [IO_HINTS_OF_MPI] = "MPI-IO",         [IO_HINTS_OF_ROMIO] = "ROMIO", [IO_HINTS_OF_OMPIO] = "OMPIO",
    [IO_HINTS_OF_PNETCDF] = "PnetCDF",    [IO_HINTS_OF_HDF5] = "HDF5",   [IO_HINTS_OF_IBM] = "IBM's MPI-IO",
    [IO_HINTS_OF_CRAY] = "Cray's MPI-IO",
};

const char *io_hint_library_name(io_hint_library library) { return libraries[library]; }

const io_known_hint *io_known_hint_find(const char *name) {
    for (size_t i = 0; i < KNOWN; i++)
        if (!strcmp(known[i].name, name)) return known + i;
    return NULL;
}

#define LONGEST 64

/* Levenshtein distance; LONGEST for long words. */
static size_t distance(const char *a, const char *b) {
    const size_t na = strlen(a), nb = strlen(b);
    size_t row[LONGEST];
    if (na >= LONGEST || nb >= LONGEST) return LONGEST;
    for (size_t k = 0; k <= nb; k++) row[k] = k;
    for (size_t i = 1; i <= na; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t k = 1; k <= nb; k++) {
            const size_t above = row[k], same = corner + (a[i - 1] != b[k - 1]);
            const size_t other = 1 + (above < row[k - 1] ? above : row[k - 1]);
            row[k] = same < other ? same : other;
            corner = above;
        }
    }
    return row[nb];
}

const char *io_known_hint_nearest(const char *name) {
    const char *best = NULL;
    const size_t length = strlen(name);
    size_t least = 1 + length / 3;
    for (size_t i = 0; i < KNOWN; i++) {
        const bool begins = length >= 4 && !strncmp(name, known[i].name, length);
        const size_t d = begins ? 1 : distance(name, known[i].name);
        if (d >= least) continue;
        least = d;
        best = known[i].name;
    }
    return best;
}

static int check_number(const char *from, const io_known_hint *hint, const char *value, io_error *error) {
    char *rest, *end;
    const long long least = strtoll(hint->values, &rest, 10), most = strtoll(rest + 2, NULL, 10);
    errno = 0;
    const long long n = strtoll(value, &end, 10);
    if (!errno && end != value && !*end && n >= least && n <= most) return 0;
    char range[64];
    snprintf(range, sizeof range, "%lld to %lld", least, most);
    return io_fail_usage(error, "%s %s=%s: '%s' is not %s%s", from, hint->name, value, value,
                         least == 1 ? "a positive integer from " : "an integer from ", range);
}

/* Is `word` one of "a|b|c"? */
static bool is_word(const char *words, const char *word, size_t length) {
    for (const char *next; *words; words = next) {
        const size_t n = strcspn(words, "|");
        if (n == length && !strncmp(words, word, n)) return true;
        next = words + n + (words[n] == '|');
    }
    return false;
}

/* A comma-separated list of words; a leading ^ excludes them. */
static bool is_list(const char *words, const char *value) {
    for (value += *value == '^';; value++) {
        const size_t n = strcspn(value, ",");
        if (!is_word(words, value, n)) return false;
        value += n;
        if (!*value) return true;
    }
}

/* Formats "a|b|c" as "a, b or c". */
static void spell(const char *words, char *text, size_t size) {
    size_t used = 0;
    for (const char *w = words; *w && used < size - 1;) {
        const size_t n = strcspn(w, "|");
        const char *before = w == words ? "" : w[n] ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", before, (int)n, w);
        w += n + (w[n] == '|');
    }
}

int io_known_hint_check(const char *from, const char *name, const char *value, io_error *error) {
    const io_known_hint *hint = io_known_hint_find(name);
    if (!hint || hint->kind == IO_HINT_TEXT) return 0;
    if (hint->kind == IO_HINT_NUMBER) return check_number(from, hint, value, error);
    const bool list = hint->kind == IO_HINT_LIST;
    if (list ? is_list(hint->values, value) : is_word(hint->values, value, strlen(value))) return 0;
    char expected[256];
    spell(hint->values, expected, sizeof expected);
    return io_fail_usage(error, "%s %s=%s: expected %s%s", from, name, value, expected,
                         list ? ", separated by commas, or ^ and those to exclude" : "");
}

/* Compares versions such as 1.14.0 by their common components: -1, 0 or 1. */
static int compare(const char *a, const char *b) {
    char *end;
    for (;; a++, b++) {
        const unsigned long x = strtoul(a, &end, 10);
        a = end;
        const unsigned long y = strtoul(b, &end, 10);
        b = end;
        if (x != y) return x < y ? -1 : 1;
        if (*a != '.' || *b != '.') return 0;
    }
}

bool io_known_hint_is_of(const io_known_hint *hint, const char *version) {
    if (!*version) return true;
    const bool old_enough = !*hint->since || compare(version, hint->since) >= 0;
    return old_enough && (!*hint->until || compare(version, hint->until) < 0);
}
