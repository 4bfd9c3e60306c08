/* SPDX-License-Identifier: BSD-3-Clause */
/* IO_MODES_OF_<identifier>: the modes of a method in methods.def. */
#ifndef IOGAUGE_MODES_OF_H
#define IOGAUGE_MODES_OF_H

#include "base/mode.h"

enum {
#define IO_METHOD(id, name, library, modes, files) IO_MODES_OF_##id = (modes),
#include "methods/methods.def"
#undef IO_METHOD
};

#endif
