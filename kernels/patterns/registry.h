/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns in patterns.def. */
#ifndef IOGAUGE_PATTERN_REGISTRY_H
#define IOGAUGE_PATTERN_REGISTRY_H

#include "pattern.h"

const io_pattern *const *io_patterns(int *n);
const io_pattern *io_pattern_find(const char *name);

int io_most_parts(const io_pattern *pattern, const void *state); /* per transfer */

#endif
