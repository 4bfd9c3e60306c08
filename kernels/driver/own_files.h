/* SPDX-License-Identifier: BSD-3-Clause */
/* Files for each process: their names and directory, and the small text files beside them. */
#ifndef IOGAUGE_OWN_FILES_H
#define IOGAUGE_OWN_FILES_H

#include "driver/session.h"

/* The name of the owner's file, within --dir; `number` of its series. */
void io_own_name(const io_case *what, uint64_t step, uint64_t owner, uint64_t number, char *name,
                 size_t size);

/* The directory that the pattern's names begin with: made by process 0 before any other goes on, or by each
 * process where each has one. Called by all; nothing to do where names have none. */
int io_make_directory(io_session *session, uint64_t step);
/* When its files are gone; by those who made it. Quiet: others may have files there. */
void io_remove_directory(const io_session *session, uint64_t step);

/* Process 0: writes the text files; compares what is there with what was to be written. */
int io_write_texts(const io_session *session, uint64_t step);
int io_check_texts(const io_session *session, uint64_t step);
/* The name of a text file, in --dir; false: there are no more. */
bool io_text_path(const io_session *session, uint64_t step, int index, char path[IO_MAX_PATH]);

#endif
