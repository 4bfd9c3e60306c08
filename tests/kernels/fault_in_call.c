/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: writes to files below IOGAUGE_FAULT_DIR go wrong. IOGAUGE_FAULT says how: `block` (for ever),
 * `fail` (EIO), `slow` (after a second), `stop` (SIGSTOP); `block-read`
 * blocks reads instead. In the process of rank IOGAUGE_FAULT_RANK; unset:
 * in all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_meant(int fd) {
    const char *dir = getenv("IOGAUGE_FAULT_DIR"), *wanted = getenv("IOGAUGE_FAULT_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char link[64], path[4096];
    if (!rank) rank = getenv("PMI_RANK");
    if (!dir || (wanted && (!rank || strcmp(rank, wanted)))) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return false;
    path[n] = '\0';
    return !strncmp(path, dir, strlen(dir));
}

/* Is the call to fail? */
static bool go_wrong(int fd) {
    const char *how = getenv("IOGAUGE_FAULT");
    if (!how || !is_meant(fd)) return false;
    if (!strcmp(how, "block"))
        for (;;) pause();
    if (!strcmp(how, "slow")) sleep(1);
    if (!strcmp(how, "stop")) raise(SIGSTOP);
    errno = EIO;
    return !strcmp(how, "fail");
}

#define INTERPOSE(name, parameters, ...)                                                                     \
    ssize_t name parameters {                                                                                \
        ssize_t(*next) parameters = dlsym(RTLD_NEXT, #name);                                                 \
        return go_wrong(fd) ? -1 : next(__VA_ARGS__);                                                        \
    }

static bool reading_goes_wrong(int fd) {
    const char *how = getenv("IOGAUGE_FAULT");
    while (how && !strcmp(how, "block-read") && is_meant(fd)) pause();
    return false;
}

INTERPOSE(write, (int fd, const void *from, size_t n), fd, from, n)
INTERPOSE(pwrite, (int fd, const void *from, size_t n, off_t at), fd, from, n, at)
INTERPOSE(pwrite64, (int fd, const void *from, size_t n, off64_t at), fd, from, n, at)
INTERPOSE(pwritev, (int fd, const struct iovec *from, int n, off_t at), fd, from, n, at)
INTERPOSE(pwritev64, (int fd, const struct iovec *from, int n, off64_t at), fd, from, n, at)

ssize_t pread(int fd, void *to, size_t n, off_t at) {
    ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    return reading_goes_wrong(fd) ? -1 : next(fd, to, n, at);
}
