/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_TEXT (2 * (size_t)RECORDER_PATH)

/* If the program has used up its descriptors, those that it may still ask for. */
static int begin(const char *path) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fd;
    struct rlimit most;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
    if (fd >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &most)) return fd;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){most.rlim_max, most.rlim_max});
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
    int code = errno;
    setrlimit(RLIMIT_NOFILE, &most);
    errno = code;
    return fd;
}

void output_begin(output *to, const char *name, const char *end) {
    const char *form = "%s/%s%s-%06d-%d-%08x%s";
    snprintf(to->path, sizeof to->path, form, to->folder, "", name, to->rank, to->pid, to->random, end);
    /* Readers look for the name's beginning. */
    snprintf(to->part, sizeof to->part, form, to->folder, "part-", name, to->rank, to->pid, to->random, end);
    to->used = 0;
    to->fd = begin(to->part);
    to->code = to->fd < 0 ? errno : 0;
}

static void write_all(output *to, const char *from, size_t size) {
    while (size && !to->code) {
        ssize_t n = syscall(SYS_write, to->fd, from, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            to->code = n ? errno : EIO;
            return;
        }
        from += n;
        size -= (size_t)n;
    }
}

static void make_room(output *to, size_t size) {
    if (to->used + size <= OUTPUT_ROOM) return;
    write_all(to, to->bytes, to->used);
    to->used = 0;
}

void output_put(output *to, const void *data, size_t size) {
    make_room(to, size);
    if (size > OUTPUT_ROOM) {
        write_all(to, data, size);
    } else if (size) {
        memcpy(to->bytes + to->used, data, size);
        to->used += size;
    }
}

void output_print(output *to, const char *format, ...) {
    va_list rest;
    make_room(to, MOST_TEXT);
    va_start(rest, format);
    int n = vsnprintf(to->bytes + to->used, MOST_TEXT, format, rest);
    va_end(rest);
    if (n > 0) to->used += (size_t)n < MOST_TEXT ? (size_t)n : MOST_TEXT - 1;
}

bool output_end(output *to) {
    char host[64] = "";
    write_all(to, to->bytes, to->used);
    if (to->fd >= 0 && syscall(SYS_close, to->fd) && !to->code) to->code = errno;
    if (!to->code && syscall(SYS_renameat, AT_FDCWD, to->part, AT_FDCWD, to->path)) to->code = errno;
    if (!to->code) return true;
    if (to->fd >= 0) syscall(SYS_unlinkat, AT_FDCWD, to->part, 0);
    gethostname(host, sizeof host - 1);
    output_say(to, "iogauge recorder: process %d on %s: no trace in %s: %s\n", to->rank, host, to->path,
               strerror(to->code));
    return false;
}

size_t output_read(const char *path, char *text, size_t room) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    size_t used = 0;
    ssize_t n = fd < 0 ? 0 : 1;
    for (; n > 0 && used + 1 < room; used += n > 0 ? (size_t)n : 0)
        n = syscall(SYS_read, fd, text + used, room - 1 - used);
    if (fd >= 0) syscall(SYS_close, fd);
    text[used] = 0;
    return used;
}

/* By a system call, as fstat() is recorded. */
void output_learn_stderr(output *to) {
    struct stat st;
    to->told = !syscall(SYS_fstat, STDERR_FILENO, &st);
    to->device = st.st_dev;
    to->inode = st.st_ino;
}

void output_say(const output *to, const char *format, ...) {
    char text[RECORDER_PATH]; /* a signal's stack may be small */
    struct stat now;
    if (!to->told || syscall(SYS_fstat, STDERR_FILENO, &now)) return;
    if (now.st_dev != to->device || now.st_ino != to->inode) return;
    va_list rest;
    va_start(rest, format);
    int n = vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (syscall(SYS_write, STDERR_FILENO, text, length) < 0) return;
}
