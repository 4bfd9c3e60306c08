/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a run's files are, and what is done to them between its timed parts: removed, dropped from the page
 * cache, looked at. */
#ifndef IOGAUGE_RUN_FILES_H
#define IOGAUGE_RUN_FILES_H

#include "driver/session.h"

/* The file of a step: the owner's own, or the shared one; `number` of a series. */
int io_file_path(const io_session *session, uint64_t step, uint64_t owner, uint64_t number,
                 char path[IO_MAX_PATH]);

/* Called by all before writing: what stands where this process will create its files. */
void io_clear_place(io_session *session);
/* Called by all: the files that this run created, unless they are to be kept; then the directories.
 * -1 where one could not be removed. */
int io_remove_all(io_session *session);
/* Removes what this process can of those files, asking nobody: for a process that ends the job. */
void io_remove_files(io_session *session);
/* The same, those of all processes. */
void io_remove_files_of_all(const io_session *session);

/* Called by all: a cold read, as far as this user may ask for one; what came of it is looked up (evidence.h),
 * not assumed. */
void io_cool_files(io_session *session);
/* Called by all: notes the sizes of the files; after writing, fails where they hold less than their data. */
int io_look_at_files(io_session *session);

#endif
