/* The names of types and modes, each once. */
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
    [IO_COLLECTIVE] = "collective",
    [IO_INDEPENDENT] = "independent",
    [IO_NONBLOCKING] = "nonblocking",
    [IO_ORDERED] = "ordered",
    [IO_MULTI] = "multi",
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
