/* SPDX-License-Identifier: BSD-3-Clause */
/* Plants a wrong byte in what each process has read in each step of each repeat, and counts those that the
 * verification notices. The place is drawn by IOGAUGE_TRACE_PLANT; without it nothing is planted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "paths.h"
#include "state.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void iogauge_plant(uint64_t repeat, uint64_t step, uint64_t all, uint64_t offset, void *data,
                            uint64_t bytes);
EXPORTED int iogauge_take_back(void *element, uint64_t size);

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The counts of a repeat; NULL without memory. */
static planting *counts_of(recorder *the, uint64_t repeat) {
    if (repeat >= the->plantings) {
        planting *larger = realloc(the->planting, (repeat + 1) * sizeof *larger);
        if (!larger) return NULL;
        the->planting = larger;
        while (the->plantings <= repeat) the->planting[the->plantings++] = (planting){0};
    }
    return &the->planting[repeat];
}

void iogauge_plant(uint64_t repeat, uint64_t step, uint64_t all, uint64_t offset, void *data,
                   uint64_t bytes) {
    recorder *the = recorder_state();
    const char *seed = getenv("IOGAUGE_TRACE_PLANT");
    planting *counts = seed ? counts_of(the, repeat) : NULL;
    if (!counts || !all) return;
    uint64_t drawn = mix(mix(strtoull(seed, NULL, 10) + (uint64_t)the->rank) + mix(repeat) + 3 * mix(step));
    uint64_t place = drawn % all;
    counts->bytes += bytes;
    if (place < offset || place - offset >= bytes) return;
    the->planted = (char *)data + (place - offset);
    the->right = *the->planted;
    *the->planted = (char)(*the->planted ^ (1 << (drawn >> 61)));
    counts->planted++;
    the->in_repeat = repeat;
}

int iogauge_take_back(void *element, uint64_t size) {
    recorder *the = recorder_state();
    char *first = element;
    if (!the->planted || the->planted < first || the->planted >= first + size) return 0;
    *the->planted = the->right;
    the->planted = NULL;
    the->planting[the->in_repeat].noticed++;
    return 1;
}

/* IOGAUGE_TRACE_FLIP: each process changes a byte of a file that it has written, at this place and its rank,
 * modulo the file's size. A file may be closed several times, and its next one may hold any value there:
 * after n changes the byte is its value XOR 3n, so that none undoes others, and up to 85 not one bit of
 * iogauge_plant(). A forked child, which shares files and rank with its parent, changes none. */
void recorder_flip(record *file) {
    const char *where = getenv("IOGAUGE_TRACE_FLIP"), *path = file->path;
    if (!where || recorder_state()->forked) return;
    int (*begin)(const char *, int, ...) = (int (*)(const char *, int, ...))recorder_next("open");
    off_t (*end_of)(int, off_t, int) = (off_t (*)(int, off_t, int))recorder_next("lseek");
    ssize_t (*get)(int, void *, size_t, off_t) =
        (ssize_t (*)(int, void *, size_t, off_t))recorder_next("pread");
    ssize_t (*put)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))recorder_next("pwrite");
    int (*end)(int) = (int (*)(int))recorder_next("close");
    unsigned char byte, bits = (unsigned char)(3 * file->changes ^ 3 * (file->changes + 1));
    int fd = begin(path, O_RDWR);
    off_t size = fd < 0 ? 0 : end_of(fd, 0, SEEK_END);
    uint64_t place = strtoull(where, NULL, 10) + (uint64_t)recorder_state()->rank;
    off_t at = size > 0 ? (off_t)(place % (uint64_t)size) : 0;
    bool done = size > 0 && get(fd, &byte, 1, at) == 1;
    byte = done ? byte ^ bits : 0;
    if (done && put(fd, &byte, 1, at) == 1)
        file->changes++;
    else
        output_say(&recorder_state()->out, "iogauge recorder: no bit of %s could be changed\n", path);
    if (fd >= 0) end(fd);
}

void recorder_write_planted(recorder *the) {
    if (!the->plantings) return;
    output_begin(&the->out, "planted", "");
    for (uint64_t i = 0; i < the->plantings; i++) {
        const planting *p = &the->planting[i];
        output_print(&the->out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, p->bytes, p->planted,
                     p->noticed);
    }
    output_end(&the->out);
}
