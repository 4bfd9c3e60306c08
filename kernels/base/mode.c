/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/mode.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned traits;
    const char *moves_as, *summary;
} modes[IO_MODES] = {
#define IO_MODE(id, name, traits, moves_as, summary) [id] = {name, traits, moves_as, summary},
#include "base/modes.def"
#undef IO_MODE
};

const char *io_mode_name(io_mode mode) { return modes[mode].name; }
const char *io_mode_summary(io_mode mode) { return modes[mode].summary; }
const char *io_mode_moves_as(io_mode mode) { return modes[mode].moves_as; }
bool io_mode_has(io_mode mode, io_mode_trait trait) { return modes[mode].traits & trait; }

int io_mode_find(const char *name, io_mode *mode) {
    for (int i = 0; i < IO_MODES; i++)
        if (!strcmp(modes[i].name, name)) {
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
        if (bits >> i & 1) snprintf(text + used, IO_MODES_TEXT - used, "%s%s", before, modes[i].name);
    }
    return text;
}
