/* SPDX-License-Identifier: BSD-3-Clause */
/* Files per process: names and directories, and the small text files beside them. */
#ifndef IOGAUGE_OWN_FILES_H
#define IOGAUGE_OWN_FILES_H

#include "driver/session.h"

/* The name of the owner's file below --dir; `number` is its index in the series. */
void io_own_name(const io_case *what, uint64_t step, uint64_t owner, uint64_t number, char *name,
                 size_t size);

/* Creates the directory in the pattern's names: process 0 before the others continue, or each process its
 * own. Called by all; does nothing if names have no directory. */
int io_make_directory(io_session *session, uint64_t step);
/* Removes it after its files; called by the processes that created it. Not an error if it still has other
 * files. */
void io_remove_directory(const io_session *session, uint64_t step);

/* Process 0 writes the text files, or compares them with what was written. */
int io_write_texts(const io_session *session, uint64_t step);
int io_check_texts(const io_session *session, uint64_t step);
/* The name of a text file in --dir; false if there are no more. */
bool io_text_path(const io_session *session, uint64_t step, int index, char path[IO_MAX_PATH]);

#endif
