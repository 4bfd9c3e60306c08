/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run, and what happens to them between the timed parts: they are removed, dropped from the
 * page cache, looked at. */
#ifndef IOGAUGE_RUN_FILES_H
#define IOGAUGE_RUN_FILES_H

#include "driver/session.h"

/* The file of a step: the owner's own, or the shared one; `number` of a series. */
int io_file_path(const io_session *session, uint64_t step, uint64_t owner, uint64_t number,
                 char path[IO_MAX_PATH]);

/* Called by all before writing: removes existing files with the names that this process will create. */
void io_clear_place(io_session *session);
/* Called by all: removes the files of this run, unless --keep; then the directories. -1 if one could not be
 * removed. */
int io_remove_all(io_session *session);
/* Removes the files that this process can, without asking others: for a process that ends the job. */
void io_remove_files(io_session *session);
/* The same, those of all processes. */
void io_remove_files_of_all(const io_session *session);

/* Called by all: drops caches as far as this user may. evidence.h shows the effect. */
void io_cool_files(io_session *session);
/* Called by all: notes the sizes of the files; after writing, fails where they hold less than their data. */
int io_look_at_files(io_session *session);

#endif
