/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that move bytes, as a table; asynchronous ones below. */
#include <aio.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "posix.h"

#ifndef RWF_APPEND /* since glibc 2.28 */
#define RWF_APPEND 16
#endif

/* Declared by headers only under _FORTIFY_SOURCE, which this library is compiled without. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);

/* The address of a vectored call, as in Darshan: its first buffer. */
static const void *first(const struct iovec *v, int n) { return n > 0 ? v[0].iov_base : NULL; }

static int64_t place(int direction, int64_t at, int flags) {
    return direction == RECORD_WRITE && flags & RWF_APPEND ? END : at;
}

/* X(name, direction, parameters, arguments, offset, memory); the descriptor is `fd`. */
#define CALLS(X)                                                                                             \
    X(read, RECORD_READ, (int fd, void *p, size_t n), (fd, p, n), HERE, p)                                   \
    X(write, RECORD_WRITE, (int fd, const void *p, size_t n), (fd, p, n), HERE, p)                           \
    X(pread, RECORD_READ, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), at, p)                      \
    X(pread64, RECORD_READ, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at), at, p)                  \
    X(pwrite, RECORD_WRITE, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), at, p)              \
    X(pwrite64, RECORD_WRITE, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), at, p)          \
    X(__read_chk, RECORD_READ, (int fd, void *p, size_t n, size_t room), (fd, p, n, room), HERE, p)          \
    X(__pread_chk, RECORD_READ, (int fd, void *p, size_t n, off_t at, size_t room), (fd, p, n, at, room),    \
      at, p)                                                                                                 \
    X(__pread64_chk, RECORD_READ, (int fd, void *p, size_t n, off64_t at, size_t room),                      \
      (fd, p, n, at, room), at, p)                                                                           \
    VECTORS(X, read, RECORD_READ)                                                                            \
    VECTORS(X, write, RECORD_WRITE)

#define VECTORS(X, KIND, DIRECTION)                                                                          \
    X(KIND##v, DIRECTION, (int fd, const struct iovec *v, int n), (fd, v, n), HERE, first(v, n))             \
    X(p##KIND##v, DIRECTION, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), at,           \
      first(v, n))                                                                                           \
    X(p##KIND##v64, DIRECTION, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), at,       \
      first(v, n))                                                                                           \
    X(p##KIND##v2, DIRECTION, (int fd, const struct iovec *v, int n, off_t at, int flags),                   \
      (fd, v, n, at, flags), place(DIRECTION, at, flags), first(v, n))                                       \
    X(p##KIND##v64v2, DIRECTION, (int fd, const struct iovec *v, int n, off64_t at, int flags),              \
      (fd, v, n, at, flags), place(DIRECTION, at, flags), first(v, n))

#define WRAP(NAME, DIRECTION, PARAMETERS, ARGUMENTS, OFFSET, MEMORY)                                         \
    EXPORT ssize_t NAME PARAMETERS {                                                                         \
        NEXT(ssize_t, NAME, PARAMETERS);                                                                     \
        if (!recorder_on()) {                                                                                \
            posix_missed(fd);                                                                                \
            return next ARGUMENTS;                                                                           \
        }                                                                                                    \
        if (DIRECTION == RECORD_READ) posix_first_read(fd);                                                  \
        moment start = recorder_moment();                                                                    \
        ssize_t result = next ARGUMENTS;                                                                     \
        posix_moved(#NAME, DIRECTION, fd, OFFSET, MEMORY, result, start);                                    \
        return result;                                                                                       \
    }
CALLS(WRAP)

/* As in Darshan, an asynchronous access counts when its result is fetched. */
static void aio_begun(const struct aiocb *what, int result, moment start) {
    posix_missed(what->aio_fildes);
    if (result || !recorder_on()) return;
    recorder_lock();
    if (posix_description(what->aio_fildes)) recorder_aio_add(what, start);
    recorder_unlock();
}

static void aio_ended(const struct aiocb *what, int direction, ssize_t result) {
    const char *call = direction == RECORD_READ ? "aio_read" : "aio_write";
    if (!recorder_on()) return;
    moment start;
    recorder_lock();
    bool ours = recorder_aio_take(what, &start);
    recorder_unlock();
    if (ours)
        posix_moved(call, direction, what->aio_fildes, what->aio_offset, (const void *)what->aio_buf, result,
                    start);
}

#define WRAP_AIO(NAME, TYPE)                                                                                 \
    EXPORT int NAME(struct TYPE *what) {                                                                     \
        NEXT(int, NAME, (struct TYPE *));                                                                    \
        if (recorder_on()) posix_first_read(what->aio_fildes);                                               \
        moment start = recorder_moment();                                                                    \
        int result = next(what);                                                                             \
        aio_begun((const struct aiocb *)what, result, start);                                                \
        return result;                                                                                       \
    }
WRAP_AIO(aio_read, aiocb)
WRAP_AIO(aio_read64, aiocb64)
WRAP_AIO(aio_write, aiocb)
WRAP_AIO(aio_write64, aiocb64)

/* aio_read and aio_write set aio_lio_opcode (in glibc), so it tells the direction here too. */
#define WRAP_AIO_RETURN(NAME, TYPE)                                                                          \
    EXPORT ssize_t NAME(struct TYPE *what) {                                                                 \
        NEXT(ssize_t, NAME, (struct TYPE *));                                                                \
        int direction = what->aio_lio_opcode == LIO_READ ? RECORD_READ : RECORD_WRITE;                       \
        ssize_t result = next(what);                                                                         \
        aio_ended((const struct aiocb *)what, direction, result);                                            \
        return result;                                                                                       \
    }
WRAP_AIO_RETURN(aio_return, aiocb)
WRAP_AIO_RETURN(aio_return64, aiocb64)

#define WRAP_LIO(NAME, TYPE)                                                                                 \
    EXPORT int NAME(int mode, struct TYPE *const list[], int n, struct sigevent *tell) {                     \
        NEXT(int, NAME, (int, struct TYPE *const[], int, struct sigevent *));                                \
        moment start = recorder_moment();                                                                    \
        int result = next(mode, list, n, tell);                                                              \
        for (int i = 0; i < n; i++)                                                                          \
            if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)                                               \
                aio_begun((const struct aiocb *)list[i], result, start);                                     \
        return result;                                                                                       \
    }
WRAP_LIO(lio_listio, aiocb)
WRAP_LIO(lio_listio64, aiocb64)
