/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that describe the failure; no framework. Each unit test file has one entry point, called by
 * unit.c. */
#ifndef IOGAUGE_UNIT_H
#define IOGAUGE_UNIT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts checks; on failure prints the condition, the location and the message. */
void unit_check(bool holds, const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define CHECK(condition, ...) unit_check((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

/* The same sequence on every machine, below `limit`. */
uint64_t unit_random(uint64_t limit);

void unit_clock(void);
void unit_layout(void);
void unit_machine(void);
void unit_memory(void);
void unit_parse(void);
void unit_patterns(void);
void unit_ramses(void);
void unit_schedule(void);
void unit_values(void);

#endif
