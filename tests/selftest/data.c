/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults in the data. All calls come here as one write or read at an offset. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector.h"

#define FARTHEST 64 /* bytes that a shifted call is beside its place */

/* Bytes that were moved before, kept for later faults. */
typedef struct {
    char *data, path[4096];
    size_t bytes, room;
    off64_t at;
} kept;

static struct {
    pthread_mutex_t lock;
    kept last[2];  /* what was read, what was written */
    kept swapping; /* the write that the next one changes places with */
    inj_shot shot; /* of it */
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ssize_t real_write(int fd, const void *data, size_t bytes, off64_t at) {
    return syscall(SYS_pwrite64, fd, data, bytes, at);
}
static ssize_t real_read(int fd, void *data, size_t bytes, off64_t at) {
    return syscall(SYS_pread64, fd, data, bytes, at);
}

static void keep(kept *k, const void *data, size_t bytes) {
    if (bytes > k->room) {
        char *more = realloc(k->data, bytes);
        if (!more) return;
        k->data = more;
        k->room = bytes;
    }
    memcpy(k->data, data, bytes);
    k->bytes = bytes;
}

void inj_saw(bool writing, const void *data, size_t bytes) {
    if (inj_current()->fault != INJ_STALE) return;
    pthread_mutex_lock(&memory.lock);
    keep(&memory.last[writing], data, bytes);
    pthread_mutex_unlock(&memory.lock);
}

/* Puts the bytes of the call before over the first of these; how many, 0 where they are the same. */
static size_t put_stale(bool writing, char *data, size_t bytes) {
    pthread_mutex_lock(&memory.lock);
    const kept *last = &memory.last[writing];
    size_t n = last->bytes < bytes ? last->bytes : bytes;
    if (n && !memcmp(data, last->data, n)) n = 0;
    if (n) memcpy(data, last->data, n);
    pthread_mutex_unlock(&memory.lock);
    return n;
}

static void flip(const inj_shot *shot, char *data, size_t bytes, off64_t at) {
    uint64_t bit = inj_choose(shot, 8 * bytes);
    data[bit / 8] ^= (char)(1 << bit % 8);
    inj_note(shot, at + (off64_t)(bit / 8), 1);
}

static void write_beside(const inj_shot *shot, int fd, const void *data, size_t bytes, off64_t at) {
    off64_t beside = at >= (off64_t)bytes ? at - (off64_t)bytes : at + (off64_t)bytes;
    inj_note(shot, beside, bytes);
    if (real_write(fd, data, bytes, beside) < 0) abort();
}

/* This one is written, and moved when the next one comes. */
static void keep_to_swap(const inj_shot *shot, const void *data, size_t bytes, off64_t at) {
    pthread_mutex_lock(&memory.lock);
    keep(&memory.swapping, data, bytes);
    memory.swapping.at = at;
    memory.shot = *shot;
    pthread_mutex_unlock(&memory.lock);
}

bool inj_swaps(const inj_shot *shot, int fd, const void *data, size_t bytes, off64_t at, ssize_t *result) {
    kept *first = &memory.swapping;
    pthread_mutex_lock(&memory.lock);
    bool now = shot->number && first->bytes && !strcmp(shot->path, memory.shot.path);
    if (now) {
        inj_note(&memory.shot, first->at, bytes);
        *result = real_write(fd, data, bytes, first->at);
        if (*result >= 0 && real_write(fd, first->data, first->bytes, at) < 0) *result = -1;
        first->bytes = 0;
    }
    pthread_mutex_unlock(&memory.lock);
    return now;
}

ssize_t inj_write(const inj_shot *shot, int fd, const void *data, size_t bytes, off64_t at) {
    inj_fault fault = inj_current()->fault;
    ssize_t result = (ssize_t)bytes;
    char *copy = malloc(bytes + 1);
    if (!copy) return -1;
    memcpy(copy, data, bytes);
    if (fault == INJ_SHORT && bytes > 1) {
        inj_note(shot, -1, 0);
        result = real_write(fd, copy, bytes / 2, at);
    } else if (fault == INJ_DROP || (fault == INJ_STALE && !put_stale(true, copy, bytes)))
        inj_note(shot, at, bytes);
    else if (fault == INJ_SHIFT) {
        off64_t by = (off64_t)inj_choose(shot, FARTHEST) + 1;
        inj_note(shot, at, bytes + (size_t)by);
        result = real_write(fd, copy, bytes, at + by);
    } else {
        if (fault == INJ_FLIP) flip(shot, copy, bytes, at);
        if (fault == INJ_STALE) inj_note(shot, at, bytes);
        result = real_write(fd, copy, bytes, at);
        if (fault == INJ_DOUBLE && result > 0) write_beside(shot, fd, copy, bytes, at);
        if (fault == INJ_SWAP && result > 0) keep_to_swap(shot, copy, bytes, at);
    }
    free(copy);
    return result;
}

/* `n` bytes from farther on for those at `at`. Behind the end of the file there are none: many libraries
 * would read on after a short read, so bytes that are surely wrong stand for those. */
static ssize_t read_beside(const inj_shot *shot, int fd, char *data, const char *right, size_t n,
                           off64_t at) {
    off64_t by = (off64_t)inj_choose(shot, FARTHEST) + 1;
    for (size_t i = 0; i < n; i++) data[i] = (char)~right[i];
    if (real_read(fd, data, n, at + by) < 0) return -1;
    if (memcmp(data, right, n)) inj_note(shot, at, n); /* zeros beside zeros are right */
    return (ssize_t)n;
}

ssize_t inj_read(const inj_shot *shot, int fd, void *data, size_t bytes, off64_t at) {
    inj_fault fault = inj_current()->fault;
    if (fault == INJ_SHORT && bytes > 1) {
        ssize_t n = real_read(fd, data, bytes / 2, at);
        if (n == (ssize_t)(bytes / 2)) inj_note(shot, -1, 0); /* else it would have been short anyway */
        return n;
    }
    char *right = malloc(bytes + 1);
    if (!right) return -1;
    ssize_t n = real_read(fd, right, bytes, at);
    if (n > 0) {
        if (fault == INJ_FLIP) flip(shot, right, (size_t)n, at);
        if (fault == INJ_STALE && put_stale(false, right, (size_t)n)) inj_note(shot, at, (size_t)n);
        if (fault == INJ_DROP && memcmp(data, right, (size_t)n)) inj_note(shot, at, (size_t)n);
        if (fault == INJ_SHIFT)
            n = read_beside(shot, fd, data, right, (size_t)n, at);
        else if (fault != INJ_DROP)
            memcpy(data, right, (size_t)n);
    }
    free(right);
    return n;
}
