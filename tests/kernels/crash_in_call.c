/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: a read or a write at a place of a file below IOGAUGE_CRASH_DIR ends in a signal, as in a library
 * that is broken. IOGAUGE_CRASH_IN says in which of the two; `unlink`: where a file that
 * is there is removed, by a write to address 8. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void crash_if_asked(int fd, const char *call) {
    const char *dir = getenv("IOGAUGE_CRASH_DIR"), *in = getenv("IOGAUGE_CRASH_IN");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || !dir || !in || strcmp(in, call)) return;
    path[n] = '\0';
    if (!strncmp(path, dir, strlen(dir))) raise(SIGSEGV);
}

ssize_t pread(int fd, void *to, size_t n, off_t at) {
    ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    crash_if_asked(fd, "read");
    return next(fd, to, n, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at) {
    ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    crash_if_asked(fd, "write");
    return next(fd, from, n, at);
}

int unlink(const char *path) {
    int (*next)(const char *) = dlsym(RTLD_NEXT, "unlink");
    const char *dir = getenv("IOGAUGE_CRASH_DIR"), *in = getenv("IOGAUGE_CRASH_IN");
    static volatile int crashed; /* the handler removes files, too */
    if (dir && in && !strcmp(in, "unlink") && !strncmp(path, dir, strlen(dir)) && !access(path, F_OK) &&
        !crashed++)
        *(volatile int *)8 = 0;
    return next(path);
}
