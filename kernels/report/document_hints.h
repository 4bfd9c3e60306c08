/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints of a run in the result document, from all sources. */
#ifndef IOGAUGE_DOCUMENT_HINTS_H
#define IOGAUGE_DOCUMENT_HINTS_H

#include <jansson.h>

#include "base/hints.h"

/* The given hints, and those that libraries take from the environment, by name. `sources` receives the
 * variable of the latter. `environment` is environ. */
json_t *io_asked_hints(const io_hints *given, char *const *environment, json_t *sources);

/* The names of given hints that are not in effect. Hints from environment variables are omitted, because
 * libraries do not report them. */
json_t *io_ignored_hints(const json_t *asked, const json_t *sources, const json_t *used);

#endif
