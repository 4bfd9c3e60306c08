/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsers of option values. Failures are usage errors that name the option. */
#ifndef IOGAUGE_PARSE_H
#define IOGAUGE_PARSE_H

#include <stdint.h>

#include "base/error.h"

int io_parse_count(const char *option, const char *text, uint64_t *value, io_error *error); /* > 0 */
int io_parse_size(const char *option, const char *text, uint64_t *bytes, io_error *error);  /* 4k, 2m, 1g */
int io_parse_grid(const char *option, const char *text, uint64_t grid[3], io_error *error); /* 4x5x6 */

#endif
