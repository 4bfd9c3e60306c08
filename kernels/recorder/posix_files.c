/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that open, close, or name a file or a descriptor, in tables. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "paths.h"
#include "posix.h"

struct statx;               /* since glibc 2.28 */
#ifndef CLOSE_RANGE_CLOEXEC /* since glibc 2.34 */
#define CLOSE_RANGE_CLOEXEC 4
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
int close_range(unsigned, unsigned, int);
void closefrom(int);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);

/* open() has a third argument only with these flags. */
static int mode_of(int flags, va_list rest) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, int) : 0;
}

/* X(name, parameters before the mode, the same as types, arguments before the mode, directory) */
#define OPENS(X)                                                                                             \
    X(open, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode), AT_FDCWD)     \
    X(open64, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode), AT_FDCWD)   \
    X(openat, (int folder, const char *path, int flags, ...), (int, const char *, int, ...),                 \
      (folder, path, flags, mode), folder)                                                                   \
    X(openat64, (int folder, const char *path, int flags, ...), (int, const char *, int, ...),               \
      (folder, path, flags, mode), folder)

#define WRAP_OPEN(NAME, PARAMETERS, TYPES, ARGUMENTS, FOLDER)                                                \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, TYPES);                                                                              \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        int mode = mode_of(flags, rest);                                                                     \
        va_end(rest);                                                                                        \
        double start = recorder_now();                                                                       \
        int fd = next ARGUMENTS;                                                                             \
        posix_opened(path, FOLDER, flags, mode, fd, start);                                                  \
        return fd;                                                                                           \
    }
OPENS(WRAP_OPEN)

#define NEW (O_CREAT | O_EXCL)

/* X(name, parameters, arguments, directory, flags, mode); `path` is the name, for mkstemp after the call. */
#define OTHER_OPENS(X)                                                                                       \
    X(__open_2, (const char *path, int flags), (path, flags), AT_FDCWD, flags, 0)                            \
    X(__open64_2, (const char *path, int flags), (path, flags), AT_FDCWD, flags, 0)                          \
    X(__openat_2, (int folder, const char *path, int flags), (folder, path, flags), folder, flags, 0)        \
    X(__openat64_2, (int folder, const char *path, int flags), (folder, path, flags), folder, flags, 0)      \
    X(creat, (const char *path, mode_t mode), (path, mode), AT_FDCWD, O_CREAT | O_TRUNC, (int)mode)          \
    X(creat64, (const char *path, mode_t mode), (path, mode), AT_FDCWD, O_CREAT | O_TRUNC, (int)mode)        \
    X(mkstemp, (char *path), (path), AT_FDCWD, NEW, 0)                                                       \
    X(mkstemp64, (char *path), (path), AT_FDCWD, NEW, 0)                                                     \
    X(mkostemp, (char *path, int flags), (path, flags), AT_FDCWD, NEW | flags, 0)                            \
    X(mkostemp64, (char *path, int flags), (path, flags), AT_FDCWD, NEW | flags, 0)                          \
    X(mkstemps, (char *path, int tail), (path, tail), AT_FDCWD, NEW, 0)                                      \
    X(mkostemps, (char *path, int tail, int flags), (path, tail, flags), AT_FDCWD, NEW | flags, 0)

#define WRAP_OTHER_OPEN(NAME, PARAMETERS, ARGUMENTS, FOLDER, FLAGS, MODE)                                    \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        double start = recorder_now();                                                                       \
        int fd = next ARGUMENTS;                                                                             \
        posix_opened(path, FOLDER, FLAGS, MODE, fd, start);                                                  \
        return fd;                                                                                           \
    }
OTHER_OPENS(WRAP_OTHER_OPEN)

/* The C library takes NULL, though its header says no. */
static int number_of(DIR *folder) { return folder ? dirfd(folder) : -1; }

/* X(name, parameters, arguments, descriptor, afterwards): stdio and folders close one inside the C library */
#define CLOSES(X)                                                                                            \
    X(close, (int fd), (fd), fd, )                                                                           \
    X(fclose, (FILE * file), (file), fileno(file), )                                                         \
    X(closedir, (DIR * folder), (folder), number_of(folder), recorder_folder_closed(folder))

#define WRAP_CLOSE(NAME, PARAMETERS, ARGUMENTS, DESCRIPTOR, AFTERWARDS)                                      \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        int of = DESCRIPTOR;                                                                                 \
        posix_missed(of);                                                                                    \
        if (!recorder_on()) return next ARGUMENTS;                                                           \
        double start = recorder_now();                                                                       \
        record *closed = posix_closing(of);                                                                  \
        int result = next ARGUMENTS;                                                                         \
        posix_closed(closed, start);                                                                         \
        AFTERWARDS;                                                                                          \
        return result;                                                                                       \
    }
CLOSES(WRAP_CLOSE)

/* Whether any was of a recorded file. */
static bool all_closed(unsigned first, unsigned last) {
    double start = recorder_now();
    bool any = false;
    for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++) {
        posix_missed((int)fd);
        if (!recorder_on() || !recorder_state()->descriptor[fd]) continue;
        posix_closed(posix_closing((int)fd), start);
        any = true;
    }
    return any;
}

/* What the C library does since glibc 2.34. */
static int close_numbers(unsigned first, unsigned last, int flags) {
    return (int)syscall(SYS_close_range, first, last, flags);
}
static void close_from(int first) {
    unsigned from = first < 0 ? 0 : (unsigned)first;
    long end = close_numbers(from, UINT_MAX, 0) ? sysconf(_SC_OPEN_MAX) : 0; /* since Linux 5.9 */
    for (long fd = from; fd < end; fd++) syscall(SYS_close, (int)fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    NEXT_OR(close_numbers, int, close_range, (unsigned, unsigned, int));
    bool any = !(flags & CLOSE_RANGE_CLOEXEC) && all_closed(first, last);
    int result = next(first, last, flags);
    if (result && any) recorder_partial(); /* they are still open */
    return result;
}

EXPORT void closefrom(int first) {
    NEXT_OR(close_from, void, closefrom, (int));
    all_closed(first < 0 ? 0 : (unsigned)first, UINT_MAX);
    next(first);
}

/* `TO`: the number that the program asks for, which may be stderr's. */
#define WRAP_DUP(NAME, PARAMETERS, ARGUMENTS, TO)                                                            \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        double start = recorder_now();                                                                       \
        int copy = next ARGUMENTS;                                                                           \
        if (copy >= 0 && copy == TO && fd != copy) posix_redirected(copy);                                   \
        posix_duplicated(fd, copy, start);                                                                   \
        return copy;                                                                                         \
    }
WRAP_DUP(dup, (int fd), (fd), -1)
WRAP_DUP(dup2, (int fd, int to), (fd, to), to)
WRAP_DUP(dup3, (int fd, int to, int flags), (fd, to, flags), to)

#define WRAP_REOPEN(NAME)                                                                                    \
    EXPORT FILE *NAME(const char *path, const char *mode, FILE *file) {                                      \
        NEXT(FILE *, NAME, (const char *, const char *, FILE *));                                            \
        double start = recorder_now();                                                                       \
        record *closed = path ? posix_closing(fileno(file)) : NULL;                                          \
        FILE *result = next(path, mode, file);                                                               \
        posix_closed(closed, start);                                                                         \
        if (result && file == stderr) posix_redirected(fileno(result));                                      \
        return result;                                                                                       \
    }
WRAP_REOPEN(freopen)
WRAP_REOPEN(freopen64)

#define WRAP_SEEK(NAME, OFFSET)                                                                              \
    EXPORT OFFSET NAME(int fd, OFFSET to, int whence) {                                                      \
        NEXT(OFFSET, NAME, (int, OFFSET, int));                                                              \
        posix_missed(fd);                                                                                    \
        double start = recorder_now();                                                                       \
        OFFSET result = next(fd, to, whence);                                                                \
        if (result < 0 || !recorder_on()) return result;                                                     \
        recorder_lock();                                                                                     \
        description *d = posix_description(fd);                                                              \
        if (d) d->offset = result;                                                                           \
        recorder_unlock();                                                                                   \
        posix_counted(fd, POSIX_SEEKS, start);                                                               \
        return result;                                                                                       \
    }
WRAP_SEEK(lseek, off_t)
WRAP_SEEK(lseek64, off64_t)

/* X(name, parameters, arguments, descriptor, path) */
#define TRUNCATES(X)                                                                                         \
    X(ftruncate, (int fd, off_t to), (fd, to), fd, NULL)                                                     \
    X(ftruncate64, (int fd, off64_t to), (fd, to), fd, NULL)                                                 \
    X(truncate, (const char *path, off_t to), (path, to), -1, path)                                          \
    X(truncate64, (const char *path, off64_t to), (path, to), -1, path)

#define WRAP_TRUNCATE(NAME, PARAMETERS, ARGUMENTS, FD, PATH)                                                 \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        if (!result) posix_cut(FD, PATH, to, start);                                                         \
        return result;                                                                                       \
    }
TRUNCATES(WRAP_TRUNCATE)

/* X(result, name, parameters, arguments, succeeded, counter): calls on a descriptor that are only counted */
#define COUNTED(X)                                                                                           \
    X(int, fsync, (int fd), (fd), !result, POSIX_FSYNCS)                                                     \
    X(int, fdatasync, (int fd), (fd), !result, POSIX_FDSYNCS)                                                \
    X(int, fstat, (int fd, struct stat *s), (fd, s), !result, POSIX_STATS)                                   \
    X(int, fstat64, (int fd, struct stat64 *s), (fd, s), !result, POSIX_STATS)                               \
    X(int, __fxstat, (int version, int fd, struct stat *s), (version, fd, s), !result, POSIX_STATS)          \
    X(int, __fxstat64, (int version, int fd, struct stat64 *s), (version, fd, s), !result, POSIX_STATS)      \
    X(void *, mmap, (void *p, size_t n, int rights, int flags, int fd, off_t at),                            \
      (p, n, rights, flags, fd, at), result != MAP_FAILED && !(flags & MAP_ANONYMOUS), POSIX_MMAPS)          \
    X(void *, mmap64, (void *p, size_t n, int rights, int flags, int fd, off64_t at),                        \
      (p, n, rights, flags, fd, at), result != MAP_FAILED && !(flags & MAP_ANONYMOUS), POSIX_MMAPS)

#define WRAP_COUNTED(RESULT, NAME, PARAMETERS, ARGUMENTS, WORKED, COUNTER)                                   \
    EXPORT RESULT NAME PARAMETERS {                                                                          \
        NEXT(RESULT, NAME, PARAMETERS);                                                                      \
        posix_missed(fd);                                                                                    \
        if (!recorder_on()) return next ARGUMENTS;                                                           \
        double start = recorder_now();                                                                       \
        RESULT result = next ARGUMENTS;                                                                      \
        if (WORKED) posix_counted(fd, COUNTER, start);                                                       \
        return result;                                                                                       \
    }
COUNTED(WRAP_COUNTED)

static void looked_at(const char *path, int result, double start) {
    posix_path(path, AT_FDCWD, true, false, start);
    if (result || !recorder_on()) return;
    recorder_lock();
    record *r = recorder_goes_on() ? recorder_record(MODULE_POSIX, path) : NULL;
    if (r) {
        double end = recorder_now();
        r->counter[POSIX_STATS]++;
        record_time(&r->time[F_META_TIME], &r->last_meta_end, start, end);
        recorder_operation(r, OPERATION_STAT, end - start);
    }
    recorder_unlock();
}

/* X(name, parameters, arguments): calls that stat a `path` */
#define STATS(X)                                                                                             \
    X(stat, (const char *path, struct stat *s), (path, s))                                                   \
    X(lstat, (const char *path, struct stat *s), (path, s))                                                  \
    X(stat64, (const char *path, struct stat64 *s), (path, s))                                               \
    X(lstat64, (const char *path, struct stat64 *s), (path, s))                                              \
    X(__xstat, (int version, const char *path, struct stat *s), (version, path, s))                          \
    X(__lxstat, (int version, const char *path, struct stat *s), (version, path, s))                         \
    X(__xstat64, (int version, const char *path, struct stat64 *s), (version, path, s))                      \
    X(__lxstat64, (int version, const char *path, struct stat64 *s), (version, path, s))

#define WRAP_STAT(NAME, PARAMETERS, ARGUMENTS)                                                               \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        looked_at(path, result, start);                                                                      \
        return result;                                                                                       \
    }
STATS(WRAP_STAT)

static void renamed(const char *from, const char *to, double start) {
    recorder_lock();
    record *old = recorder_goes_on() ? recorder_known(MODULE_POSIX, from) : NULL;
    record *now = old ? recorder_record(MODULE_POSIX, to) : NULL;
    if (old) {
        old->counter[POSIX_RENAME_SOURCES]++;
        record_time(&old->time[F_META_TIME], &old->last_meta_end, start, recorder_now());
    }
    if (now) {
        now->counter[POSIX_RENAME_TARGETS]++;
        if (!now->counter[POSIX_RENAMED_FROM])
            now->counter[POSIX_RENAMED_FROM] = (int64_t)record_id(old->path);
    }
    recorder_unlock();
}

/* X(name, parameters, arguments, directory before, directory after) */
#define RENAMES(X)                                                                                           \
    X(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD)                            \
    X(renameat, (int old, const char *from, int new, const char *to), (old, from, new, to), old, new)        \
    X(renameat2, (int old, const char *from, int new, const char *to, unsigned flags),                       \
      (old, from, new, to, flags), old, new)

#define WRAP_RENAME(NAME, PARAMETERS, ARGUMENTS, OLD, NOW)                                                   \
    EXPORT int NAME PARAMETERS {                                                                             \
        NEXT(int, NAME, PARAMETERS);                                                                         \
        char before[RECORDER_PATH], after[RECORDER_PATH];                                                    \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        posix_path(from, OLD, true, !result, start);                                                         \
        posix_path(to, NOW, true, !result, start);                                                           \
        if (!result && recorder_on()) renamed(path_at(OLD, from, before), path_at(NOW, to, after), start);   \
        return result;                                                                                       \
    }
RENAMES(WRAP_RENAME)

/* Only of files that this process has opened. */
EXPORT int unlink(const char *path) {
    NEXT(int, unlink, (const char *));
    double start = recorder_now();
    int result = next(path);
    posix_path(path, AT_FDCWD, true, !result, start);
    if (result || !recorder_on()) return result;
    double end = recorder_now();
    recorder_lock();
    record *r = recorder_goes_on() ? recorder_known(MODULE_POSIX, path) : NULL;
    if (r) {
        r->created = false;
        recorder_operation(r, OPERATION_REMOVE, end - start);
    }
    recorder_unlock();
    return result;
}

/* X(result, name, parameters, arguments, directory, does it look a path up, does it change it): not counted
 */
#define ON_PATHS(X)                                                                                          \
    X(int, access, (const char *path, int how), (path, how), AT_FDCWD, true, false)                          \
    X(int, faccessat, (int folder, const char *path, int how, int flags), (folder, path, how, flags),        \
      folder, true, false)                                                                                   \
    X(int, fstatat, (int folder, const char *path, struct stat *s, int flags), (folder, path, s, flags),     \
      folder, true, false)                                                                                   \
    X(int, fstatat64, (int folder, const char *path, struct stat64 *s, int flags), (folder, path, s, flags), \
      folder, true, false)                                                                                   \
    X(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *s),                 \
      (folder, path, flags, mask, s), folder, true, false)                                                   \
    X(int, remove, (const char *path), (path), AT_FDCWD, true, !result)                                      \
    X(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, true,         \
      !result)                                                                                               \
    X(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, true,         \
      !result)                                                                                               \
    X(int, linkat, (int old, const char *from, int folder, const char *path, int flags),                     \
      (old, from, folder, path, flags), folder, true, !result)                                               \
    X(int, symlinkat, (const char *from, int folder, const char *path), (from, folder, path), folder, true,  \
      !result)                                                                                               \
    X(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, true, !result)                    \
    X(int, rmdir, (const char *path), (path), AT_FDCWD, true, !result)                                       \
    X(int, link, (const char *from, const char *path), (from, path), AT_FDCWD, true, !result)                \
    X(int, symlink, (const char *from, const char *path), (from, path), AT_FDCWD, true, !result)             \
    X(FILE *, fopen, (const char *path, const char *mode), (path, mode), AT_FDCWD, true,                     \
      result && *mode != 'r')                                                                                \
    X(FILE *, fopen64, (const char *path, const char *mode), (path, mode), AT_FDCWD, true,                   \
      result && *mode != 'r')

#define WRAP_ON_PATH(RESULT, NAME, PARAMETERS, ARGUMENTS, FOLDER, LOOKED, CHANGED)                           \
    EXPORT RESULT NAME PARAMETERS {                                                                          \
        NEXT(RESULT, NAME, PARAMETERS);                                                                      \
        double start = recorder_now();                                                                       \
        RESULT result = next ARGUMENTS;                                                                      \
        posix_path(path, FOLDER, LOOKED, CHANGED, start);                                                    \
        return result;                                                                                       \
    }
ON_PATHS(WRAP_ON_PATH)
