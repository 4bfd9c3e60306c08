/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run between the timed parts: removing them, dropping them from the page cache, checking
 * sizes. */
#ifndef IOGAUGE_RUN_FILES_H
#define IOGAUGE_RUN_FILES_H

#include "driver/session.h"

/* The file of a step: the owner's own, or the shared one; `number` is its index in a series. */
int io_file_path(const io_session *session, uint64_t step, uint64_t owner, uint64_t number,
                 char path[IO_MAX_PATH]);

/* Called by all before a repeat writes: -1 if there are files with its names; with --overwrite they are
 * removed. */
int io_remove_existing(io_session *session);
/* Called by all: removes what io_may_remove allows, then the directories. -1 if one could not be removed. */
int io_remove_all(io_session *session);
/* Removes the files of this process without communication, before it ends the job. */
void io_remove_files(io_session *session);
/* The same, for all processes. */
void io_remove_files_of_all(const io_session *session);

/* Called by all: drops caches as far as permitted. evidence.h shows the effect. */
void io_drop_caches(io_session *session);
/* Called by all: records the file sizes; after writing, fails if files are smaller than their data. */
int io_check_files(io_session *session);

#endif
