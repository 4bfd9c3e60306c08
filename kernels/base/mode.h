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

/* A set of modes is these bits, joined by |. */
enum {
#define IO_MODE(id, name, traits, moves_as, summary) id##_BIT = 1 << id,
#include "base/modes.def"
#undef IO_MODE
};

typedef enum {
    IO_TOGETHER = 1,    /* stands for "collective calls" */
    IO_ONE_PROCESS = 2, /* a run of one process only */
    IO_COMPRESSES = 4,  /* files may be smaller than the data: io_method.stored */
} io_mode_trait;

const char *io_mode_name(io_mode mode);
const char *io_mode_summary(io_mode mode);
const char *io_mode_moves_as(io_mode mode); /* the name of another mode, or "" */
bool io_mode_has(io_mode mode, io_mode_trait trait);
int io_mode_find(const char *name, io_mode *mode);

/* The names of modes, of a set, as a message lists them: "a, b or c". */
#define IO_MODES_TEXT 128
const char *io_mode_names(unsigned bits, char text[IO_MODES_TEXT]);

#endif
