/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TRIES 2        /* an interruption in both is unlikely */
#define OFFSET_TRIES 8 /* on a busy node most may be interrupted, for milliseconds */

bool clock_has_ticks(void) {
#ifdef CLOCK_COUNT
    char name[32] = "";
    FILE *in = fopen(SOURCE, "r");
    bool read = in && fgets(name, sizeof name, in);
    if (in) fclose(in);
    return read && !strcmp(name, "tsc\n");
#else
    return false;
#endif
}

static uint64_t in_nanoseconds(const struct timespec *t) {
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

uint64_t clock_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return in_nanoseconds(&now);
}

int64_t clock_offset_of(const clock_pair *pairs, int n) {
    const clock_pair *best = pairs;
    for (int i = 1; i < n; i++)
        if (pairs[i].after - pairs[i].before < best->after - best->before) best = &pairs[i];
    return (int64_t)(best->unix_time - best->before - (best->after - best->before) / 2);
}

int64_t clock_unix_offset(void) {
    clock_pair pairs[OFFSET_TRIES];
    for (int i = 0; i < OFFSET_TRIES; i++) {
        struct timespec now;
        pairs[i].before = clock_nanoseconds();
        clock_gettime(CLOCK_REALTIME, &now);
        pairs[i].after = clock_nanoseconds();
        pairs[i].unix_time = in_nanoseconds(&now);
    }
    return clock_offset_of(pairs, OFFSET_TRIES);
}

double clock_now(const io_clock *c) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - c->origin.tv_sec) + (double)(now.tv_nsec - c->origin.tv_nsec) * 1e-9;
}

/* Reads the clock between two tick counts; returns the closest pair of all tries. */
static clock_mark reading(const io_clock *c) {
    clock_mark best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        moment before = clock_moment(c->ticks);
        double seconds = clock_now(c);
        uint64_t took = clock_moment(c->ticks) - before;
        if (took >= least) continue;
        least = took;
        best = (clock_mark){.at = before + took / 2, .seconds = seconds};
    }
    return best;
}

void clock_start(io_clock *c, bool ticks) {
    *c = (io_clock){.ticks = ticks};
    clock_gettime(CLOCK_MONOTONIC, &c->origin);
    c->first = (clock_mark){.at = in_nanoseconds(&c->origin), .tick = 1e-9};
    if (ticks) c->first = reading(c);
    c->last = c->now = c->first;
}

static double tick_between(const clock_mark *from, const clock_mark *to) {
    return to->at > from->at ? (to->seconds - from->seconds) / (double)(to->at - from->at) : 0;
}

void clock_read(io_clock *c) {
    if (!c->ticks) { /* records the age of the reading */
        c->now.at = clock_nanoseconds();
        return;
    }
    c->last = c->now;
    c->now = reading(c);
    c->first.tick = tick_between(&c->first, &c->last);
    c->last.tick = tick_between(&c->last, &c->now);
}

double clock_seconds(const io_clock *c, moment at) {
    if (!c->ticks) return (double)(int64_t)(at - c->first.at) * c->first.tick;
    const clock_mark *from = at < c->last.at ? &c->first : &c->last;
    const clock_mark *to = at < c->last.at ? &c->last : &c->now;
    if (at <= from->at) return from->seconds;
    if (at >= to->at) return to->seconds;
    return from->seconds + (double)(at - from->at) * from->tick;
}
