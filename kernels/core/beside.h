/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes with a file for each process: its name and directory, the small text files beside it, and
 * turns (--io-group). */
#ifndef IOGAUGE_BESIDE_H
#define IOGAUGE_BESIDE_H

#include "driver.h"

/* The name of the owner's file, within --dir; `number` of its series. */
void io_own_name(const io_case *what, uint64_t step, uint64_t owner, uint64_t number, char *name,
                 size_t size);

/* The directory that the pattern's names begin with: made by process 0 before any other goes on, or by each
 * process where each has one. Called by all; nothing to do where names have none. */
int io_make_directory(const io_session *session, uint64_t step);
/* When its files are gone; by those who made it. Quiet: others may have files there. */
void io_remove_directory(const io_session *session, uint64_t step);

/* Process 0: writes the text files; compares what is there with what was to be written. */
int io_write_texts(const io_session *session, uint64_t step);
int io_check_texts(const io_session *session, uint64_t step);
/* The name of a text file, in --dir; false: there are no more. */
bool io_text_path(const io_session *session, uint64_t step, int index, char path[IO_MAX_PATH]);

/* At most one process of each so many is between these two; the token goes from rank to rank. Both are
 * called whatever has failed, so that nobody is left waiting. */
int io_take_turn(const io_session *session);
int io_pass_turn(const io_session *session);

#endif
