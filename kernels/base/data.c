/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/data.h"

static const struct {
    const char *name;
    uint64_t size;
} types[IO_TYPES] = {
    [IO_BYTE] = {"byte",    1},
      [IO_INT32] = {"int32",   4},
      [IO_INT64] = {"int64",   8},
    [IO_FLOAT32] = {"float32", 4},
      [IO_FLOAT64] = {"float64", 8},
};

const char *io_type_name(io_type type) { return types[type].name; }
uint64_t io_type_size(io_type type) { return types[type].size; }
