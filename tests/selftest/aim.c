/* SPDX-License-Identifier: BSD-3-Clause */
/* Which call is meant, and what is known of it afterwards. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "injector.h"

static inj_plan plan;
static _Atomic uint64_t seen[INJ_CALLS];

const inj_plan *inj_current(void) { return &plan; }

void *inj_next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    dprintf(STDERR_FILENO, "injector: no function %s behind this library\n", name);
    abort();
}

static const char *own_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return getenv(names[i]);
    return "0";
}

/* By system calls: nobody's counting, and no fault of ours. */
static void log_line(const char *line, int n) {
    if (!*plan.log || n < 0) return;
    int code = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
        dprintf(STDERR_FILENO, "injector: %s: %s\n", plan.log, strerror(errno));
    if (fd >= 0) syscall(SYS_close, fd);
    errno = code;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("IOGAUGE_INJECT");
    if (text && *text) inj_parse(text, &plan);
}

__attribute__((destructor)) static void end(void) {
    char line[128];
    if (!plan.on || plan.fault != INJ_COUNT) return;
    for (int i = 0; i < INJ_CALLS; i++)
        if (seen[i])
            log_line(line, snprintf(line, sizeof line, "%s %s %" PRIu64 "\n", own_rank(), inj_call_names[i],
                                    (uint64_t)seen[i]));
}

/* The path that is meant, with no link in its folder; false: nobody can know. */
static bool path_of(int fd, int folder, const char *path, char out[4096]) {
    char name[4096];
    if (fd >= 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, out, 4095);
        if (n < 0) return false;
        out[n] = '\0';
        return true;
    }
    if (folder != AT_FDCWD && *path != '/') {
        size_t n;
        if (!path_of(folder, AT_FDCWD, NULL, out)) return false;
        n = strlen(out);
        return snprintf(out + n, 4096 - n, "/%s", path) < (int)(4096 - n);
    }
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (!realpath(*name ? name : "/", out)) return false;
    size_t n = strlen(out);
    return snprintf(out + n, 4096 - n, "/%s", file) < (int)(4096 - n);
}

static bool is_below(const char *path) {
    size_t n = strlen(plan.below);
    return !strncmp(path, plan.below, n) && (path[n] == '/' || !path[n]);
}

bool inj_aim(inj_call call, int fd, int folder, const char *path, inj_shot *shot) {
    *shot = (inj_shot){0};
    if (!plan.on || (plan.call != call && plan.call != INJ_ANY)) return false;
    if (plan.rank && strcmp(plan.rank, own_rank()) != 0) return false;
    int code = errno;
    bool meant = path_of(fd, folder, path, shot->path) && is_below(shot->path);
    errno = code;
    if (!meant) return false;
    shot->number = ++seen[call];
    uint64_t first = plan.nth + (plan.stagger ? plan.stagger * strtoull(own_rank(), NULL, 10) : 0);
    uint64_t since = shot->number - first;
    shot->fires =
        plan.fault != INJ_COUNT && shot->number >= first && since < plan.times && since % plan.every == 0;
    return shot->fires;
}

void inj_note(const inj_shot *shot, int64_t offset, uint64_t bytes) {
    char line[4400];
    log_line(line,
             snprintf(line, sizeof line, "%s %s:%s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 " %s\n",
                      own_rank(), inj_call_names[plan.call], plan.name, shot->number, offset, bytes,
                      shot->bytes ? (int64_t)shot->at : -1, shot->path));
}

static void compute(uint64_t milliseconds) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    for (time_t end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + (time_t)milliseconds;
         now.tv_sec * 1000 + now.tv_nsec / 1000000 < end;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

bool inj_strike(const inj_shot *shot) {
    inj_note(shot, shot->bytes ? shot->at : -1, shot->bytes);
    switch (plan.fault) {
    case INJ_KILL: kill(getpid(), SIGKILL); break;
    case INJ_STOP: raise(SIGSTOP); break;
    case INJ_CRASH: *(volatile int *)8 = 0; break;
    case INJ_BLOCK:
        for (;;) pause();
    case INJ_SLOW: usleep((useconds_t)plan.milliseconds * 1000); break;
    case INJ_BUSY: compute(plan.milliseconds); break;
    default: break;
    }
    errno = plan.code;
    return plan.fault == INJ_ERROR;
}

/* SplitMix64. */
uint64_t inj_choose(const inj_shot *shot, uint64_t end) {
    uint64_t x = plan.seed * 0x9E3779B97F4A7C15u + shot->number * 0xD6E8FEB86659FD93u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (x ^ x >> 31) % end;
}
