/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries of this program, and their versions. */
#ifndef IOGAUGE_LIBRARIES_H
#define IOGAUGE_LIBRARIES_H

#include <jansson.h>

json_t *io_libraries(void);

#endif
