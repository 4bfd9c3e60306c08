/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints of a run in the result document, whichever way they came. */
#ifndef IOGAUGE_DOCUMENT_HINTS_H
#define IOGAUGE_DOCUMENT_HINTS_H

#include <jansson.h>

#include "base/hints.h"

/* The hints that were given, and those that libraries take from the environment by themselves, by name;
 * `ways`, an object too: of the latter, the variable. `environment` is environ. */
json_t *io_asked_hints(const io_hints *given, char *const *environment, json_t *ways);

/* The names of asked hints that are not among those in force. Not of those in a variable of their own:
 * libraries take them without telling. */
json_t *io_ignored_hints(const json_t *asked, const json_t *ways, const json_t *used);

#endif
