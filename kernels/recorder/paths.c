/* SPDX-License-Identifier: BSD-3-Clause */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/beside.h"
#include "recorder.h"

#define CEILING "/" IO_CEILING_FILE
#define DIRECT "/" IO_DIRECT_FOLDER "/"

/* False if it is too long. */
static bool make_absolute(const char *path, char clean[RECORDER_PATH]) {
    char full[2 * RECORDER_PATH];
    size_t used = 0, end = 0;
    if (path[0] != '/') {
        if (!getcwd(full, RECORDER_PATH)) return false;
        used = strlen(full);
        full[used++] = '/';
    }
    if (used + strlen(path) >= sizeof full) return false;
    strcpy(full + used, path);
    for (char *rest, *part = strtok_r(full, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) {
            while (end && clean[--end] != '/') continue;
            continue;
        }
        if (end + strlen(part) + 2 > RECORDER_PATH) return false;
        end += (size_t)sprintf(clean + end, "/%s", part);
    }
    if (!end) clean[end++] = '/';
    clean[end] = 0;
    return true;
}

const char *path_at(int folder, const char *path, char joined[RECORDER_PATH]) {
    if (folder == AT_FDCWD || path[0] == '/') return path;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, joined, RECORDER_PATH - 1);
    if (n < 0 || (size_t)n + strlen(path) + 2 > RECORDER_PATH) return path;
    sprintf(joined + n, "/%s", path);
    return joined;
}

/* With its folder's real name. */
static bool resolve(const char *path, char real[RECORDER_PATH]) {
    char folder[RECORDER_PATH];
    const char *name = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s/", (int)(name - path), path);
    size_t end = realpath(folder, real) ? strlen(real) : RECORDER_PATH;
    if (end == 1) end = 0; /* the root */
    if (end + strlen(name) >= RECORDER_PATH) return false;
    strcpy(real + end, name);
    return true;
}

/* Frees nothing: the allocator may not have started yet (AddressSanitizer's). */
path_included *path_include(const char *directories) {
    path_included *first = NULL;
    char one[RECORDER_PATH], given[RECORDER_PATH], real[RECORDER_PATH];
    if (!*directories) directories = "/";
    for (size_t n; *directories; directories += n + (directories[n] == ':')) {
        n = strcspn(directories, ":");
        snprintf(one, sizeof one, "%.*s", (int)n, directories);
        path_included *made = n && make_absolute(one, given) ? malloc(sizeof *made) : NULL;
        if (!made) continue;
        if (!realpath(one, real) && !resolve(given, real)) strcpy(real, given); /* it may come later */
        /* The root has an empty name: `/` and the rest follow. */
        *made = (path_included){first, strdup(given[1] ? given : ""), strdup(real[1] ? real : "")};
        first = made;
    }
    return first;
}

/* What follows the folder; NULL if the path is not in it. */
static const char *below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]) ? path + length : NULL;
}

/* The path with its directory's name as given; what follows that, or NULL if it is in none. */
static char *as_given(const path_included *include, const char *path, char clean[RECORDER_PATH]) {
    const char *rest = NULL;
    for (; include; include = include->next) {
        rest = below(include->real, path);
        if (!rest) rest = below(include->given, path);
        if (rest) break;
    }
    if (!rest || strlen(include->given) + strlen(rest) >= RECORDER_PATH) return NULL;
    sprintf(clean, "%s%s", include->given, rest);
    return clean + strlen(include->given);
}

/* Is a folder on the way from `rest` to the file a symbolic link? */
static bool has_links(const char *path, char *rest) {
    ssize_t n = -1;
    while (n < 0 && *rest && (rest = strchr(rest + 1, '/'))) {
        *rest = 0;
        n = readlink(path, &(char){0}, 1);
        *rest = '/';
    }
    return n >= 0;
}

bool path_wanted(const path_included *include, const char *path, char clean[RECORDER_PATH]) {
    char full[RECORDER_PATH], real[RECORDER_PATH];
    int code = errno;
    /* Open MPI tests locks on its own file next to each shared file. */
    if (!make_absolute(path, full) || strstr(full, ".locktest.")) return false;
    char *rest = as_given(include, full, clean);
    bool sure = rest && !has_links(clean, rest);
    if (!sure && resolve(full, real) && as_given(include, real, clean)) sure = true;
    errno = code;
    return sure || rest; /* or through a link to elsewhere */
}

const char *path_without_prefix(const char *path) {
    static const char *const prefix[] = {
        "ufs:",    "nfs:", "xfs:",     "pvfs2:", "gpfs:",   "panfs:", "lustre:", "daos:",
        "testfs:", "ime:", "quobyte:", "pvfs:",  "zoidfs:", "bg:",    "bgl:",    "bglockless:"};
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (!strncasecmp(path, prefix[i], strlen(prefix[i]))) return path + strlen(prefix[i]);
    return path;
}

/* Bob Jenkins' 64-bit hash (public domain, 1997), with which Darshan identifies files. */
#define MIX(a, b, c)                                                                                         \
    do {                                                                                                     \
        a = (a - b - c) ^ (c >> 43);                                                                         \
        b = (b - c - a) ^ (a << 9);                                                                          \
        c = (c - a - b) ^ (b >> 8);                                                                          \
        a = (a - b - c) ^ (c >> 38);                                                                         \
        b = (b - c - a) ^ (a << 23);                                                                         \
        c = (c - a - b) ^ (b >> 5);                                                                          \
        a = (a - b - c) ^ (c >> 35);                                                                         \
        b = (b - c - a) ^ (a << 49);                                                                         \
        c = (c - a - b) ^ (b >> 11);                                                                         \
        a = (a - b - c) ^ (c >> 12);                                                                         \
        b = (b - c - a) ^ (a << 18);                                                                         \
        c = (c - a - b) ^ (b >> 22);                                                                         \
    } while (0)

static uint64_t word(const unsigned char *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

uint64_t record_id(const char *path) {
    const unsigned char *k = (const unsigned char *)path;
    size_t length = strlen(path), left = length;
    uint64_t a = 0, b = 0, c = 0x9e3779b97f4a7c13u;
    for (; left >= 24; k += 24, left -= 24) {
        a += word(k, 8);
        b += word(k + 8, 8);
        c += word(k + 16, 8);
        MIX(a, b, c);
    }
    c += length;
    a += word(k, left < 8 ? left : 8);
    if (left > 8) b += word(k + 8, left < 16 ? left - 8 : 8);
    if (left > 16) c += word(k + 16, left - 16) << 8; /* the lowest byte holds the length */
    MIX(a, b, c);
    return c;
}

storage_kind path_kind(const char *path) {
    const char *name = strrchr(path, '/');
    if (name && !strncmp(name, CEILING, strlen(CEILING))) return STORAGE_CEILINGS;
    return strstr(path, DIRECT) ? STORAGE_DIRECT : STORAGE_OWN;
}
