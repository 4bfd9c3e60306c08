/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints of a run in the result document, from all sources. */
#ifndef IOGAUGE_DOCUMENT_HINTS_H
#define IOGAUGE_DOCUMENT_HINTS_H

#include <jansson.h>

#include "base/hints.h"

/* The given hints, and those that libraries take from the environment, by name. `ways`: an object with the
 * variable of the latter. `environment`: environ. */
json_t *io_asked_hints(const io_hints *given, char *const *environment, json_t *ways);

/* The names of given hints that are not in force. Hints in environment variables are left out: libraries do
 * not report them. */
json_t *io_ignored_hints(const json_t *asked, const json_t *ways, const json_t *used);

#endif
