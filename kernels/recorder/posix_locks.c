/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that lock parts of a file, and fcntl(). */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <unistd.h>

#include "posix.h"

/* Whose a lock is: closing any descriptor of the file ends the process's. */
typedef enum { OF_PROCESS, OF_DESCRIPTION } lock_owner;

/* Locks or unlocks a range. On NFS, flock() is fcntl() of the whole file. */
static void locked(int fd, short type, int64_t from, int64_t length, lock_owner owner, double start) {
    if (!recorder_on() || !recorder_wants_segments()) return;
    double end = recorder_now();
    recorder_lock();
    description *d = posix_description(fd);
    if (d && recorder_goes_on()) {
        int kind = type == F_UNLCK ? EVENT_UNLOCK : type == F_RDLCK ? EVENT_LOCK_READ : EVENT_LOCK_WRITE;
        if (length == WHOLE_FILE && d->file->nfs) length = 0;
        *(owner == OF_PROCESS ? &d->file->locked : length == WHOLE_FILE ? &d->flocked : &d->locked) = true;
        if (from < 0)
            recorder_partial(); /* the kernel did not tell from where */
        else
            event_add(d->file, kind, from, length, start, end);
    }
    recorder_unlock();
}

EXPORT int flock(int fd, int operation) {
    NEXT(int, flock, (int, int));
    double start = recorder_now();
    int result = next(fd, operation), what = operation & ~LOCK_NB;
    short type = what == LOCK_UN ? F_UNLCK : what == LOCK_SH ? F_RDLCK : F_WRLCK;
    if (!result) locked(fd, type, 0, WHOLE_FILE, OF_DESCRIPTION, start);
    return result;
}

/* The same range from the start of the file; before the call, as the kernel, too, waits only afterwards. */
static struct flock absolute(int fd, struct flock range) {
    if (!recorder_on() || !recorder_wants_segments() || !posix_description(fd)) return range;
    int64_t from = range.l_whence == SEEK_CUR   ? posix_offset(fd)
                   : range.l_whence == SEEK_END ? posix_size(fd)
                                                : 0;
    range.l_start = from < 0 ? -1 : from + range.l_start + (range.l_len < 0 ? range.l_len : 0);
    if (range.l_len < 0) range.l_len = -range.l_len;
    return range;
}

#define WRAP_LOCKF(NAME, LENGTH)                                                                             \
    EXPORT int NAME(int fd, int command, LENGTH length) {                                                    \
        NEXT(int, NAME, (int, int, LENGTH));                                                                 \
        short type = command == F_ULOCK ? F_UNLCK : F_WRLCK;                                                 \
        struct flock range = {.l_whence = SEEK_CUR, .l_len = length};                                        \
        range = absolute(fd, range);                                                                         \
        double start = recorder_now();                                                                       \
        int result = next(fd, command, length);                                                              \
        if (!result && command != F_TEST) locked(fd, type, range.l_start, range.l_len, OF_PROCESS, start);   \
        return result;                                                                                       \
    }
WRAP_LOCKF(lockf, off_t)
WRAP_LOCKF(lockf64, off64_t)

static void flags_set(int fd, int flags) {
    if (!recorder_on()) return;
    recorder_lock();
    description *d = posix_description(fd);
    if (d && recorder_goes_on()) d->append = flags & O_APPEND;
    recorder_unlock();
}

/* The argument is an integer or a pointer: a pointer has room for both. */
#define WRAP_FCNTL(NAME)                                                                                     \
    EXPORT int NAME(int fd, int command, ...) {                                                              \
        NEXT(int, NAME, (int, int, ...));                                                                    \
        va_list rest;                                                                                        \
        va_start(rest, command);                                                                             \
        void *argument = va_arg(rest, void *);                                                               \
        va_end(rest);                                                                                        \
        bool own = command == F_OFD_SETLK || command == F_OFD_SETLKW;                                        \
        bool locks = (own || command == F_SETLK || command == F_SETLKW) && argument;                         \
        struct flock range = {0};                                                                            \
        if (locks) range = absolute(fd, *(const struct flock *)argument);                                    \
        double start = recorder_now();                                                                       \
        int result = next(fd, command, argument);                                                            \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) posix_duplicated(fd, result, start);           \
        if (command == F_SETFL && !result) flags_set(fd, (int)(intptr_t)argument);                           \
        if (locks && !result)                                                                                \
            locked(fd, range.l_type, range.l_start, range.l_len, own ? OF_DESCRIPTION : OF_PROCESS, start);  \
        return result;                                                                                       \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)
