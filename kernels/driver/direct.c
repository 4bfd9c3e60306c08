/* SPDX-License-Identifier: BSD-3-Clause */
/* What a method in front of another is compared with: that other one alone, in mode independent, on the same
 * clients and with the same data, between the repeats of the run. In a directory of its own, because its
 * files have the run's names. */
#include "driver/direct.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/driver.h"

#define DIRECTORY "iogauge-direct"

bool io_has_direct(const io_case *what) {
    const io_method *behind = what->write ? io_method_behind(what) : NULL;
    return behind && !(behind->traits & IO_MOVES_NOTHING);
}

int io_measure_direct(const io_session *session, io_sample *sample) {
    io_case what = *session->what;
    io_session s = *session;
    char dir[IO_MAX_PATH];
    snprintf(dir, sizeof dir, "%.*s/" DIRECTORY, (int)(sizeof dir - sizeof DIRECTORY - 1), what.common.dir);
    what.method = io_method_behind(session->what);
    what.method_state = NULL;
    what.mode = IO_INDEPENDENT;
    what.compute_seconds = 0;
    memcpy(what.common.dir, dir, sizeof dir);
    what.read = what.common.keep = false;
    s.what = &what;
    s.found = NULL;
    s.created = 0;
    s.directory_was_there = false;
    /* By each process, because nodes may have file systems of their own. */
    if (mkdir(dir, 0777) && errno != EEXIST) io_fail_errno(&s.world->error, "mkdir", dir, errno);
    if (io_agree(s.world)) return -1;
    int status = io_measure(&s, sample);
    if (!status) MPI_Barrier(s.world->comm);
    rmdir(dir); /* whoever comes last */
    return status;
}
