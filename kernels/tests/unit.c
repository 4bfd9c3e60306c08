/* SPDX-License-Identifier: BSD-3-Clause */
/* iokernel_unit NAME: runs one unit test; the exit status is 1 if a check failed. */
#include "tests/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_FAILURES 20 /* printed; a broken loop would fail a million times */

static uint64_t checks, failures;

void unit_check(bool holds, const char *condition, const char *file, int line, const char *format, ...) {
    checks++;
    if (holds || failures++ >= MAX_FAILURES) return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: not true: %s: ", file, line, condition);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

uint64_t unit_random(uint64_t limit) {
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } units[] = {
        {"clock",    unit_clock   },
        {"layout",   unit_layout  },
        {"machine",  unit_machine },
        {"memory",   unit_memory  },
        {"parse",    unit_parse   },
        {"patterns", unit_patterns},
        {"ramses",   unit_ramses  },
        {"schedule", unit_schedule},
        {"values",   unit_values  },
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (argc == 2 && !strcmp(argv[1], units[i].name)) {
            units[i].run();
            printf("%s: %" PRIu64 " checks, %" PRIu64 " failed\n", units[i].name, checks, failures);
            return failures || !checks;
        }
    fprintf(stderr,
            "Usage: iokernel_unit clock|layout|machine|memory|parse|patterns|ramses|schedule|values\n");
    return 2;
}
