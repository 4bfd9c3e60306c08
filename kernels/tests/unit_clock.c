/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's clock: compares moments with CLOCK_MONOTONIC, with and without processor ticks. */
#include <stdlib.h>

#include "base/clock.h"
#include "tests/unit.h"

#define MOMENTS 20000
#define NEAR 100e-6 /* seconds: the test itself may be interrupted */

/* A moment, and the clock just before and just after it. */
typedef struct {
    moment at;
    double before, after;
} witness;

static void check_all(const io_clock *clock, const witness *seen, int from, int to) {
    double last = 0;
    for (int i = from; i < to; i++) {
        double seconds = clock_seconds(clock, seen[i].at);
        CHECK(seconds >= last, "moment %d: %.9f follows %.9f", i, seconds, last);
        CHECK(seconds > seen[i].before - NEAR && seconds < seen[i].after + NEAR,
              "moment %d: %.9f is not in %.9f .. %.9f", i, seconds, seen[i].before, seen[i].after);
        last = seconds;
    }
}

static void test_moments(bool ticks) {
    witness *seen = malloc(MOMENTS * sizeof *seen);
    CHECK(seen, "out of memory");
    if (!seen) return;
    io_clock clock;
    clock_start(&clock, ticks);
    for (int i = 0, told = 0; i < MOMENTS; i++) {
        seen[i].before = clock_now(&clock);
        seen[i].at = clock_moment(ticks);
        seen[i].after = clock_now(&clock);
        if (unit_random(64) && i + 1 < MOMENTS) continue;
        moment latest = clock.now.at;
        clock_read(&clock);
        CHECK(clock.now.at >= seen[i].at, "a reading is older than moment %d", i);
        CHECK(!ticks || clock.last.at == latest, "a line begins at %" PRIu64, clock.last.at);
        check_all(&clock, seen, told, i + 1);
        told = i + 1;
    }
    check_all(&clock, seen, 0, MOMENTS); /* long after they were taken */
    free(seen);
}

/* Synthetic readings: ticks half as fast in the second interval as in the first. */
static void test_lines(void) {
    io_clock clock = {
        .ticks = true, .first = {1000, 0, 0.001},
             .last = {2000, 1, 0.002},
             .now = {3000, 3, 0    }
    };
    static const struct {
        moment at;
        double seconds;
    } cases[] = {
        {0,    0    },
        {1000, 0    },
        {1500, 0.5  },
        {1999, 0.999},
        {2000, 1    },
        {2500, 2    },
        {3000, 3    },
        {3001, 3    }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double off = clock_seconds(&clock, cases[i].at) - cases[i].seconds;
        CHECK(off < 1e-12 && off > -1e-12, "moment %" PRIu64 " is off by %g s", cases[i].at, off);
    }
}

/* A process may be interrupted between the two clocks: the closest pair counts. */
static void test_offset(void) {
    static const clock_pair pairs[] = {
        {1000, 9000500, 5001000},
        {6000, 1006010, 6020   },
        {7000, 1999000, 999000 }
    };
    CHECK(clock_offset_of(pairs, 3) == 1000000, "the offset is %" PRId64, clock_offset_of(pairs, 3));
    struct timespec now;
    uint64_t before = clock_nanoseconds();
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t off = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - clock_unix_offset() - (int64_t)before;
    CHECK(off > -1000000 && off < 10000000000, "Unix time is off by %" PRId64 " ns", off);
}

void unit_clock(void) {
    test_offset();
    test_lines();
    test_moments(false);
    if (clock_has_ticks()) test_moments(true);
}
