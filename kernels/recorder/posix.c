/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: their file and file offset. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "paths.h"

#define MUCH 65536 /* bytes of a file that is there before it is made */

description *posix_description(int fd) {
    return fd >= 0 && fd < DESCRIPTORS ? recorder_state()->descriptor[fd] : NULL;
}

static description *new_description(void) {
    recorder *the = recorder_state();
    description *d = the->spare;
    if (!d) return memory_larger(&the->memory, NULL, 0, sizeof *d);
    the->spare = d->spare;
    return d;
}

static void unlocked(const record *file, bool *held, int64_t length) {
    double now = *held ? recorder_now() : 0;
    if (*held) event_add(file, EVENT_UNLOCK, 0, length, now, now);
    *held = false;
}

static void closed(description *d) {
    recorder *the = recorder_state();
    recorder_storage_closed(d);
    if (d->forks == the->shared_offsets) { /* else a child may hold them */
        unlocked(d->file, &d->locked, 0);
        unlocked(d->file, &d->flocked, WHOLE_FILE);
    }
    if (d->wrote) recorder_flip(d->file);
    d->spare = the->spare;
    the->spare = d;
}

static void forget(int fd) {
    description *d = posix_description(fd);
    if (!d) return;
    recorder_state()->descriptor[fd] = NULL;
    atomic_store(&recorder_state()->unread[fd], false);
    unlocked(d->file, &d->file->locked, 0); /* though others are open */
    if (!--d->descriptors) closed(d);
}

static void attach(int fd, description *d) {
    if (fd < 0 || fd >= DESCRIPTORS) {
        recorder_partial();
        return;
    }
    forget(fd);
    recorder_state()->descriptor[fd] = d;
    atomic_store(&recorder_state()->unread[fd], !d->reads);
    d->descriptors++;
}

/* The child of a vfork() has its parent's memory, but its own descriptors. */
static bool is_borrowed(void) { return recorder_state()->pid != getpid(); }

record *posix_closing(int fd) {
    if (!recorder_on() || is_borrowed()) return NULL;
    recorder_lock();
    description *d = posix_description(fd);
    record *file = d ? d->file : NULL;
    if (recorder_goes_on()) forget(fd);
    recorder_unlock();
    return file;
}

void posix_closed(record *file, double start) {
    if (!file || !recorder_on()) return;
    recorder_lock();
    if (recorder_goes_on()) {
        file->last_byte[RECORD_READ] = file->last_byte[RECORD_WRITE] = 0;
        record_close(file, start, recorder_now());
    }
    recorder_unlock();
}

int64_t posix_offset(int fd) {
    int code = errno;
    int64_t at = syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    errno = code;
    return at;
}

int64_t posix_size(int fd) {
    int code = errno;
    struct stat st;
    int64_t size = syscall(SYS_fstat, fd, &st) ? -1 : st.st_size;
    errno = code;
    return size;
}

void posix_missed(int fd) {
    if (recorder_holds && posix_description(fd)) recorder_partial();
}

/* A file system inside the program may hand out descriptors whose offset is not told: no streams. */
static bool is_stream(int fd) {
    int code = errno;
    bool stream = syscall(SYS_lseek, fd, 0L, SEEK_CUR) < 0 && errno == ESPIPE;
    errno = code;
    return stream;
}

/* The offset at which an access without an explicit one began; advances the descriptor. Asks the kernel only
 * if the offset may have changed elsewhere (another process after a fork, O_APPEND), because that costs a
 * system call per access. */
static int64_t step(description *d, int fd, int64_t size) {
    bool unsure = d->append || d->forks != recorder_state()->shared_offsets;
    if (unsure) {
        int64_t now = posix_offset(fd);
        if (now >= 0) d->offset = now < size ? 0 : now - size;
    }
    int64_t began = d->offset;
    d->offset += size;
    return began;
}

/* Where a write with an offset began, though Linux appends it. Others may have appended since. */
static int64_t appended(description *d, int fd, int64_t size) {
    int64_t now = posix_size(fd);
    d->offset = posix_offset(fd); /* pwritev2() may have moved it */
    if (now < size) recorder_partial();
    return now < size ? 0 : now - size;
}

void posix_first_read(int fd) {
    recorder *the = recorder_state();
    if (fd < 0 || fd >= DESCRIPTORS || !atomic_load_explicit(&the->unread[fd], memory_order_relaxed)) return;
    int code = errno;
    recorder_lock_for_access();
    description *d = posix_description(fd);
    atomic_store(&the->unread[fd], false);
    if (d && recorder_goes_on()) recorder_storage_reads(d);
    recorder_unlock();
    errno = code;
}

/* Who reads from a pipe or a terminal has waited for who wrote. */
static void passed(int direction, moment start, moment end) {
    io_clock *clock = &recorder_state()->clock;
    recorder_lock();
    clock_read(clock);
    if (recorder_goes_on())
        event_message(direction == RECORD_READ ? MESSAGE_IN : MESSAGE_OUT, NULL, clock_seconds(clock, start),
                      clock_seconds(clock, end));
    recorder_unlock();
}

void posix_moved(const char *call, int direction, int fd, int64_t offset, const void *memory, ssize_t result,
                 moment start) {
    if (result < 0 || !recorder_on() || recorder_depth >= RECORDER_ASKS) return;
    moment end = recorder_moment();
    recorder_lock_for_access();
    description *d = posix_description(fd);
    bool stream = d && d->stream;
    if (d && !stream && recorder_goes_on()) {
        bool at_end = offset == END || (offset >= 0 && d->append && direction == RECORD_WRITE);
        int64_t place = at_end ? appended(d, fd, result) : offset == HERE ? step(d, fd, result) : offset;
        recorder_wait(&(waiting){d->file, call, start, end, result, place, offset, direction});
        if ((uintptr_t)memory % MEMORY_ALIGNMENT) d->file->counter[POSIX_MEM_NOT_ALIGNED]++;
        if (direction == RECORD_WRITE && result) d->wrote = d->file->unflushed = true;
    }
    recorder_unlock();
    if (stream && recorder_wants_segments()) passed(direction, start, end);
}

void posix_path(const char *path, int folder, bool looked, bool changed, double start) {
    if (!path || !*path || recorder_depth || !recorder_on() || !recorder_wants_segments()) return;
    int code = errno;
    char joined[RECORDER_PATH];
    double end = recorder_now();
    path = path_at(folder, path, joined);
    recorder_lock();
    if (looked && recorder_goes_on()) event_path(EVENT_LOOKED, path, start, end);
    if (changed && recorder_goes_on()) event_path(EVENT_CHANGED, path, start, end);
    recorder_unlock();
    errno = code;
}

/* Not called for MPI's libraries: they order it by messages that are not seen. */
void posix_cut(int fd, const char *path, int64_t to, double start) {
    if (recorder_depth || !recorder_on() || !recorder_wants_segments() || is_borrowed()) return;
    int code = errno;
    double end = recorder_now();
    recorder_lock();
    description *d = path ? NULL : posix_description(fd);
    record *r = d && !d->below ? d->file : NULL;
    if (path && recorder_goes_on()) r = recorder_record(MODULE_POSIX, path);
    if (r && recorder_goes_on()) event_add(r, EVENT_CUT, to, 0, start, end);
    recorder_unlock();
    errno = code;
}

/* A file without a name, in this folder, has a number. */
static const char *unnamed(int fd, const char *folder, char joined[RECORDER_PATH]) {
    char link[64], target[RECORDER_PATH];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    char *tail = strrchr(target, '/'), *end = tail ? strstr(tail, " (deleted)") : NULL;
    size_t length = strlen(folder);
    if (end) *end = 0;
    if (!tail || length + strlen(tail) >= RECORDER_PATH) return folder;
    if (folder != joined) memcpy(joined, folder, length);
    strcpy(joined + length, tail);
    return joined;
}

/* Asks the kernel, which is slow on a parallel file system. Without the lock: fstat() is recorded, too. */
static bool is_full(int fd) {
    struct stat st;
    return !fstat(fd, &st) && (st.st_size >= MUCH || st.st_blocks >= MUCH / 512);
}

void posix_opened(const char *path, int folder, int flags, int mode, int fd, double start) {
    posix_path(path, folder, !(flags & O_CREAT) || flags & O_EXCL, flags & O_CREAT && fd >= 0, start);
    if (fd >= 0 && recorder_holds) recorder_partial(); /* as posix_missed() */
    if (fd < 0 || !recorder_on() || is_borrowed()) return;
    int code = errno;
    char joined[RECORDER_PATH];
    double end = recorder_now();
    bool full = false;
    path = path_at(folder, path, joined);
    if ((flags & O_TMPFILE) == O_TMPFILE) path = unnamed(fd, path, joined);
    recorder_lock();
    if (recorder_goes_on()) forget(fd); /* closed by a call that was not intercepted */
    record *r = recorder_goes_on() ? recorder_record(MODULE_POSIX, path) : NULL;
    if (r && flags & O_CREAT && !(flags & (O_EXCL | O_TRUNC))) {
        recorder_unlock();
        full = is_full(fd);
        recorder_lock();
    }
    description *d = r && recorder_goes_on() ? new_description() : NULL;
    if (d) {
        *d = (description){.file = r,
                           .append = flags & O_APPEND,
                           .stream = is_stream(fd),
                           .below = recorder_depth > 0,
                           .forks = recorder_state()->shared_offsets};
        if (mode) r->counter[POSIX_MODE] = mode;
        r->counter[POSIX_OPENS]++;
        memset(r->last_byte, 0, sizeof r->last_byte);
        if (flags & O_CREAT) r->unflushed = false;
        record_open(r, start, end);
        if (flags & O_CREAT && !r->created) recorder_operation(r, OPERATION_CREATE, end - start);
        if (flags & O_CREAT) r->created = true;
        recorder_storage_opened(d, flags, full);
        attach(fd, d);
        if (!d->descriptors) closed(d);
    }
    recorder_unlock();
    errno = code;
    if (flags & O_TRUNC) posix_cut(fd, NULL, 0, start);
}

void posix_redirected(int fd) {
    if (fd == STDERR_FILENO && !is_borrowed()) output_learn_stderr(&recorder_state()->out);
}

void posix_duplicated(int fd, int copy, double start) {
    posix_missed(fd);
    if (copy < 0 || !recorder_on() || is_borrowed()) return;
    recorder_lock();
    description *d = posix_description(fd);
    if (fd != copy && !d) forget(copy);
    if (fd != copy && d && recorder_goes_on()) {
        d->file->counter[POSIX_OPENS]++;
        d->file->counter[POSIX_DUPS]++;
        record_open(d->file, start, recorder_now());
        attach(copy, d);
    }
    recorder_unlock();
}

void posix_counted(int fd, int counter, double start) {
    if (!recorder_on()) return;
    double end = recorder_now();
    recorder_lock();
    description *d = posix_description(fd);
    if (d && recorder_goes_on()) {
        record *r = d->file;
        bool flush = counter == POSIX_FSYNCS || counter == POSIX_FDSYNCS;
        r->counter[counter]++;
        if (counter == POSIX_FSYNCS && r->unflushed) recorder_operation(r, OPERATION_FLUSH, end - start);
        if (flush) r->unflushed = false;
        /* Like Darshan, counts flushes as writing, and mmap as nothing. */
        if (flush) record_time(&r->time[F_WRITE_TIME], &r->last_end[RECORD_WRITE], start, end);
        if (!flush && counter != POSIX_MMAPS)
            record_time(&r->time[F_META_TIME], &r->last_meta_end, start, end);
    }
    recorder_unlock();
}
