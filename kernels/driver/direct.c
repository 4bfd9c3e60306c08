/* SPDX-License-Identifier: BSD-3-Clause */
/* The baseline of a method with a backend: the backend alone, in mode independent, on the same clients and
 * with the same data, between the repeats of the run. It uses a separate directory, because its file names
 * are the same. */
#include "driver/direct.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "driver/driver.h"
#include "driver/evidence.h"

bool io_has_direct(const io_case *what) {
    const io_method *backend = what->write ? io_method_backend(what, NULL) : NULL;
    return backend && !(backend->traits & IO_MOVES_NOTHING);
}

/* Adds to the wrong elements of the run; the number checked belongs to the sample. */
static void join(io_world *world, io_found *to, const io_found *from, io_sample *sample) {
    if (!to->check.wrong && from->check.wrong) {
        uint64_t elements = to->check.elements, bytes = to->check.bytes;
        to->check = from->check;
        to->check.elements = elements;
        to->check.bytes = bytes;
        to->located = from->located;
        to->wrong_offset = from->wrong_offset;
        memcpy(to->wrong_index, from->wrong_index, sizeof to->wrong_index);
        memcpy(to->wrong_file, from->wrong_file, sizeof to->wrong_file);
    } else
        to->check.wrong += from->check.wrong;
    uint64_t bytes = from->check.bytes;
    IO_MPI(world, MPI_Allreduce, &bytes, &sample->verified, 1, MPI_UINT64_T, MPI_SUM, world->comm);
}

/* Writes, and if the run verifies, reads back and verifies. Reading is not reported. */
static int measure_verified(io_session *s, const io_session *run, io_sample *sample) {
    io_found found;
    io_found_start(&found, s->what->steps, &s->world->error);
    s->found = &found;
    int status = io_agree(s->world) || io_measure(s, sample);
    if (!status && run->found) join(s->world, run->found, &found, sample);
    io_found_stop(&found);
    return status ? -1 : 0;
}

int io_measure_direct(const io_session *session, io_sample *sample) {
    io_case what = *session->what;
    io_session s = *session;
    char dir[IO_MAX_PATH];
    what.method = io_method_backend(session->what, &what.method_state);
    snprintf(dir, sizeof dir, "%.*s/" IO_DIRECT_FOLDER, (int)(sizeof dir - sizeof IO_DIRECT_FOLDER - 1),
             io_dir(&what, io_own_files(&what)));
    what.own_dir = NULL;
    what.mode = IO_INDEPENDENT;
    what.compute_seconds = 0;
    memcpy(what.common.dir, dir, sizeof dir);
    what.common.keep = false;
    s.what = &what;
    s.found = NULL;
    s.latency = NULL;
    s.directory_was_there = false;
    s.directory_is_own = true;
    /* On every process, because directories may be local to a node. */
    if (mkdir(dir, 0777) && errno != EEXIST) io_fail_errno(&s.world->error, "mkdir", dir, errno);
    if (io_agree(s.world)) return -1;
    int status = measure_verified(&s, session, sample);
    if (!status) IO_MPI(s.world, MPI_Barrier, s.world->comm);
    rmdir(dir); /* the last process succeeds */
    return status;
}
