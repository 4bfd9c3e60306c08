/* SPDX-License-Identifier: BSD-3-Clause */
/* Modes: how a method calls its library (modes.def). */
#ifndef IOGAUGE_MODE_H
#define IOGAUGE_MODE_H

#include <stdbool.h>

typedef enum {
#define IO_MODE(id, name, traits, moves_as, summary) id,
#include "base/modes.def"
#undef IO_MODE
    IO_MODES
} io_mode;

/* Bit masks for sets of modes. */
enum {
#define IO_MODE(id, name, traits, moves_as, summary) id##_BIT = 1 << id,
#include "base/modes.def"
#undef IO_MODE
};

typedef enum {
    IO_IS_COLLECTIVE = 1,
    IO_ONE_PROCESS = 2, /* runs with one process only */
    IO_COMPRESSES = 4,  /* files may be smaller than the data; see io_method.stored */
} io_mode_trait;

const char *io_mode_name(io_mode mode);
const char *io_mode_summary(io_mode mode);
const char *io_mode_moves_as(io_mode mode); /* name of another mode, or "" */
bool io_mode_has(io_mode mode, io_mode_trait trait);
int io_mode_find(const char *name, io_mode *mode);

/* The names of a set of modes for messages: "a, b or c". */
#define IO_MODES_TEXT 128
const char *io_mode_names(unsigned bits, char text[IO_MODES_TEXT]);

#endif
