/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that stand before the C library's. A call that does not fire goes on as it is. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injector.h"

#define HERE ((off64_t) - 1)

/* Is the fault one of the data? All others strike before the call. */
static bool in_data(void) {
    inj_fault f = inj_current()->fault;
    return f >= INJ_FLIP && f <= INJ_SHORT;
}

static size_t total(const struct iovec *v, int n) {
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += v[i].iov_len;
    return bytes;
}

static void copy_pieces(const struct iovec *v, int n, char *whole, bool gather) {
    for (int i = 0; i < n; i++) {
        if (gather)
            memcpy(whole, v[i].iov_base, v[i].iov_len);
        else
            memcpy(v[i].iov_base, whole, v[i].iov_len);
        whole += v[i].iov_len;
    }
}

/* Not lseek: that would be a call of the program, for a recorder before this library. */
static off64_t place(int fd, off64_t at) { return at == HERE ? syscall(SYS_lseek, fd, 0, SEEK_CUR) : at; }

/* Moves a descriptor that an access at HERE would have moved. */
static void step(int fd, off64_t at, off64_t from, ssize_t *result) {
    if (at == HERE && *result > 0 && syscall(SYS_lseek, fd, from + *result, SEEK_SET) < 0) *result = -1;
}

/* An access as a call was asked for; at HERE: where the descriptor stands. */
typedef struct {
    bool writing;
    int fd;
    const struct iovec *pieces;
    int n;
    off64_t at;
} access_asked;

/* One that is meant. */
static ssize_t faulty(const inj_shot *shot, const access_asked *a) {
    size_t bytes = total(a->pieces, a->n);
    char *whole = malloc(bytes + 1);
    off64_t from = place(a->fd, a->at);
    if (!whole || from < 0) {
        free(whole);
        return -1;
    }
    copy_pieces(a->pieces, a->n, whole, true);
    ssize_t result =
        a->writing ? inj_write(shot, a->fd, whole, bytes, from) : inj_read(shot, a->fd, whole, bytes, from);
    if (!a->writing && result > 0) copy_pieces(a->pieces, a->n, whole, false);
    free(whole);
    step(a->fd, a->at, from, &result);
    return result;
}

/* True where the access is done, with `result`. */
static bool before(const access_asked *a, ssize_t *result) {
    inj_shot shot;
    if (!inj_current()->on || !total(a->pieces, a->n)) return false;
    bool fires = inj_aim(a->writing ? INJ_WRITE : INJ_READ, a->fd, AT_FDCWD, NULL, &shot);
    *result = -1;
    shot.at = fires ? place(a->fd, a->at) : 0;
    shot.bytes = total(a->pieces, a->n);
    if (fires && !in_data()) return inj_strike(&shot);
    if (fires) {
        *result = faulty(&shot, a);
        return true;
    }
    if (!shot.number || !a->writing || a->n != 1) return false;
    inj_saw(true, a->pieces->iov_base, a->pieces->iov_len);
    off64_t from = place(a->fd, a->at);
    if (!inj_swaps(&shot, a->fd, a->pieces->iov_base, a->pieces->iov_len, from, result)) return false;
    step(a->fd, a->at, from, result);
    return true;
}

static void after(const access_asked *a, ssize_t result) {
    if (!a->writing && result > 0 && (size_t)result <= a->pieces->iov_len)
        inj_saw(false, a->pieces->iov_base, (size_t)result);
}

static struct iovec piece(const void *p, size_t n) { return (struct iovec){(void *)p, n}; }

/* X(name, writes, parameters, arguments, pieces, how many, offset); the descriptor is `fd` */
#define ONE(p, n)                                                                                            \
    (struct iovec[]) { piece(p, n) }
#define ACCESSES(X)                                                                                          \
    X(read, false, (int fd, void *p, size_t n), (fd, p, n), ONE(p, n), 1, HERE)                              \
    X(pread, false, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), ONE(p, n), 1, at)                 \
    X(pread64, false, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at), ONE(p, n), 1, at)             \
    X(write, true, (int fd, const void *p, size_t n), (fd, p, n), ONE(p, n), 1, HERE)                        \
    X(pwrite, true, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), ONE(p, n), 1, at)           \
    X(pwrite64, true, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), ONE(p, n), 1, at)       \
    VECTORS(X, read, false)                                                                                  \
    VECTORS(X, write, true)
#define VECTORS(X, KIND, WRITES)                                                                             \
    X(KIND##v, WRITES, (int fd, const struct iovec *v, int n), (fd, v, n), v, n, HERE)                       \
    X(p##KIND##v, WRITES, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), v, n, at)        \
    X(p##KIND##v64, WRITES, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), v, n, at)

#define WRAP_ACCESS(NAME, WRITES, PARAMETERS, ARGUMENTS, PIECES, N, AT)                                      \
    ssize_t NAME PARAMETERS {                                                                                \
        static ssize_t(*next) PARAMETERS;                                                                    \
        access_asked asked = {WRITES, fd, PIECES, (int)(N), AT};                                             \
        ssize_t result;                                                                                      \
        if (!next) next = (ssize_t(*) PARAMETERS)inj_next(#NAME);                                            \
        if (before(&asked, &result)) return result;                                                          \
        result = next ARGUMENTS;                                                                             \
        after(&asked, result);                                                                               \
        return result;                                                                                       \
    }
ACCESSES(WRAP_ACCESS)

/* An asynchronous access that is meant is done at once: its control block says how it ended, as the C
 * library would. */
static bool at_once(bool writing, struct aiocb *what) {
    ssize_t result;
    struct iovec whole = piece((const void *)what->aio_buf, what->aio_nbytes);
    access_asked asked = {writing, what->aio_fildes, &whole, 1, what->aio_offset};
    if (!before(&asked, &result)) return false;
    what->aio_lio_opcode = writing ? LIO_WRITE : LIO_READ;
    what->__error_code = result < 0 ? errno : 0;
    what->__return_value = result;
    return true;
}

#define WRAP_AIO(NAME, TYPE, WRITES)                                                                         \
    int NAME(struct TYPE *what) {                                                                            \
        static int (*next)(struct TYPE *);                                                                   \
        if (!next) next = (int (*)(struct TYPE *))inj_next(#NAME);                                           \
        return at_once(WRITES, (struct aiocb *)what) ? 0 : next(what);                                       \
    }
WRAP_AIO(aio_read, aiocb, false)
WRAP_AIO(aio_read64, aiocb64, false)
WRAP_AIO(aio_write, aiocb, true)
WRAP_AIO(aio_write64, aiocb64, true)

/* Calls without data: true where it is to fail. */
static bool fails(inj_call call, int fd, int folder, const char *path) {
    inj_shot shot;
    return inj_aim(call, fd, folder, path, &shot) && inj_strike(&shot);
}

static int mode_of(int flags, va_list rest) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, int) : 0;
}

#define WRAP_OPEN(NAME, PARAMETERS, TYPES, ARGUMENTS, FOLDER)                                                \
    int NAME PARAMETERS {                                                                                    \
        static int(*next) TYPES;                                                                             \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        int mode = mode_of(flags, rest);                                                                     \
        va_end(rest);                                                                                        \
        if (!next) next = (int(*) TYPES)inj_next(#NAME);                                                     \
        return fails(INJ_OPEN, -1, FOLDER, path) ? -1 : next ARGUMENTS;                                      \
    }
WRAP_OPEN(open, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode), AT_FDCWD)
WRAP_OPEN(open64, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode), AT_FDCWD)
WRAP_OPEN(openat, (int folder, const char *path, int flags, ...), (int, const char *, int, ...),
          (folder, path, flags, mode), folder)
WRAP_OPEN(openat64, (int folder, const char *path, int flags, ...), (int, const char *, int, ...),
          (folder, path, flags, mode), folder)

/* X(result, name, parameters, arguments, call, descriptor, path, the failure) */
#define PLAIN(X)                                                                                             \
    X(int, creat, (const char *path, mode_t mode), (path, mode), INJ_OPEN, -1, path, -1)                     \
    X(FILE *, fopen, (const char *path, const char *mode), (path, mode), INJ_OPEN, -1, path, NULL)           \
    X(FILE *, fopen64, (const char *path, const char *mode), (path, mode), INJ_OPEN, -1, path, NULL)         \
    X(int, fsync, (int fd), (fd), INJ_FSYNC, fd, NULL, -1)                                                   \
    X(int, fdatasync, (int fd), (fd), INJ_FSYNC, fd, NULL, -1)                                               \
    X(int, ftruncate, (int fd, off_t n), (fd, n), INJ_TRUNCATE, fd, NULL, -1)                                \
    X(int, ftruncate64, (int fd, off64_t n), (fd, n), INJ_TRUNCATE, fd, NULL, -1)                            \
    X(int, truncate, (const char *path, off_t n), (path, n), INJ_TRUNCATE, -1, path, -1)                     \
    X(int, truncate64, (const char *path, off64_t n), (path, n), INJ_TRUNCATE, -1, path, -1)                 \
    X(int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n), INJ_TRUNCATE, fd, NULL, errno)         \
    X(int, posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n), INJ_TRUNCATE, fd, NULL, errno)   \
    X(int, rename, (const char *path, const char *to), (path, to), INJ_RENAME, -1, path, -1)

#define WRAP_PLAIN(RESULT, NAME, PARAMETERS, ARGUMENTS, CALL, FD, PATH, FAILURE)                             \
    RESULT NAME PARAMETERS {                                                                                 \
        static RESULT(*next) PARAMETERS;                                                                     \
        if (!next) next = (RESULT(*) PARAMETERS)inj_next(#NAME);                                             \
        return fails(CALL, FD, AT_FDCWD, PATH) ? FAILURE : next ARGUMENTS;                                   \
    }
PLAIN(WRAP_PLAIN)

/* A file that is not there is not removed, and so does not count: the kernels clear their place first. */
int unlink(const char *path) {
    static int (*next)(const char *);
    if (!next) next = (int (*)(const char *))inj_next("unlink");
    bool there = inj_current()->on && inj_current()->call >= INJ_UNLINK && !access(path, F_OK);
    return there && fails(INJ_UNLINK, -1, AT_FDCWD, path) ? -1 : next(path);
}

/* What was only read has nothing to lose. */
static bool may_write(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* As on Linux: the descriptor is closed, and then the error is said. */
int close(int fd) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))inj_next("close");
    if (!inj_current()->on || !may_write(fd) || !fails(INJ_CLOSE, fd, AT_FDCWD, NULL)) return next(fd);
    int code = errno;
    next(fd);
    errno = code;
    return -1;
}
