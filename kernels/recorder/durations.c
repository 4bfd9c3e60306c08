/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the calls on the run's own files took, in bins of at most 1/16 of their value. Darshan's log has
 * their sum and the longest. */
#include <inttypes.h>
#include <stdio.h>

#include "paths.h"
#include "state.h"

#define BITS 4 /* behind the leading one of a number of nanoseconds */
#define EACH (1 << BITS)

void recorder_duration(recorder *the, int module, int direction, double seconds) {
    uint64_t ns = seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
    int shift = ns < EACH ? 0 : 63 - BITS - __builtin_clzll(ns), bin = shift * EACH + (int)(ns >> shift);
    the->duration[module][direction][bin < DURATIONS ? bin : DURATIONS - 1]++;
}

/* The least number of nanoseconds in a bin. */
static uint64_t least(int bin) {
    return bin < EACH ? (uint64_t)bin : (uint64_t)(EACH + bin % EACH) << (bin / EACH - 1);
}

void recorder_write_durations(recorder *the) {
    bool begun = false;
    for (int i = 0; i < MODULES * DIRECTIONS * DURATIONS; i++) {
        int bin = i % DURATIONS, direction = i / DURATIONS % DIRECTIONS, module = i / DURATIONS / DIRECTIONS;
        uint64_t calls = the->duration[module][direction][bin];
        if (!calls) continue;
        if (!begun) output_begin(&the->out, "durations", "");
        begun = true;
        output_print(&the->out, "%d %d %" PRIu64 " %" PRIu64 "\n", module, direction, least(bin), calls);
    }
    if (begun) output_end(&the->out);
}
