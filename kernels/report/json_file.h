/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON to a file or stdout. */
#ifndef IOGAUGE_JSON_FILE_H
#define IOGAUGE_JSON_FILE_H

#include <jansson.h>

#include "base/error.h"

/* "-" is stdout. -1 with a message on failure. */
int io_write_json(const json_t *document, const char *path, io_error *error);

/* Checks before the run that the file can be written. -1 with a message if not. */
int io_check_json(const char *path, io_error *error);

#endif
