/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of types and modes, each once. */
#include <stdio.h>
#include <string.h>

#include "io.h"

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

static const char *const modes[IO_MODES] = {
    [IO_COLLECTIVE] = "collective",   [IO_COLLECTIVE_METADATA] = "collective-metadata",
    [IO_INDEPENDENT] = "independent", [IO_NONBLOCKING] = "nonblocking",
    [IO_ORDERED] = "ordered",         [IO_MULTI] = "multi",
    [IO_SERIAL] = "serial",
};

const char *io_type_name(io_type type) { return types[type].name; }
uint64_t io_type_size(io_type type) { return types[type].size; }
const char *io_mode_name(io_mode mode) { return modes[mode]; }

int io_mode_find(const char *name, io_mode *mode) {
    for (int i = 0; i < IO_MODES; i++)
        if (!strcmp(modes[i], name)) {
            *mode = (io_mode)i;
            return 0;
        }
    return -1;
}

const char *io_mode_names(unsigned bits, char text[IO_MODES_TEXT]) {
    *text = 0;
    for (int i = 0; i < IO_MODES; i++) {
        const size_t used = strlen(text);
        const char *before = !used ? "" : bits >> (i + 1) ? ", " : " or ";
        if (bits >> i & 1)
            snprintf(text + used, IO_MODES_TEXT - used, "%s%s", before, io_mode_name((io_mode)i));
    }
    return text;
}
