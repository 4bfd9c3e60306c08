/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends the recording, and handles forks. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"
#include "raw_trace.h"

#define DEFAULT_SEGMENTS ((size_t)1 << 22)
#define PROCESS "IOGAUGE_TRACE_PROCESS" /* the rank, and the number of processes */

void recorder_set_process(int rank, int processes) {
    recorder *the = recorder_state();
    the->rank = rank;
    the->processes = processes;
    the->mpi = true;
    the->forked = false;
    snprintf(the->for_programs, sizeof the->for_programs, PROCESS "=%d %d", rank, processes);
}

/* Learns the MPI process that started this program, which counts as that one, like a forked child. The
 * variable is made now, as there are no threads yet. */
static void learn_starter(recorder *the) {
    const char *both = getenv(PROCESS);
    int rank, processes;
    the->processes = 1;
    snprintf(the->for_programs, sizeof the->for_programs, PROCESS "=%s", both ? both : "");
    putenv(the->for_programs);
    if (!both || sscanf(both, "%d %d", &rank, &processes) != 2 || rank < 0 || rank >= processes) return;
    the->rank = rank;
    the->processes = processes;
    the->forked = true;
}

/* If the program has a limit for the size of files, that must not end it here. */
static void write_files(recorder *the) {
    sigset_t too_large, before;
    the->out.folder = the->folder;
    the->out.rank = the->rank;
    the->out.pid = the->pid;
    the->out.random = (unsigned)the->clock.origin.tv_nsec; /* before Linux 3.17 */
    syscall(SYS_getrandom, &the->out.random, sizeof the->out.random, 0);
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    if (trace_write(the)) {
        recorder_write_planted(the);
        recorder_write_hints(the);
        recorder_write_storage(the);
        recorder_write_operations(the);
        recorder_write_durations(the);
    }
    if (!sigismember(&before, SIGXFSZ)) sigtimedwait(&too_large, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void recorder_finish(bool complete) {
    recorder *the = recorder_state();
    recorder_lock();
    /* The child of a vfork shares all memory with its parent: it must not end the recording. */
    bool mine = recorder_switch.on && the->pid == getpid();
    if (recorder_holds > 1) recorder_partial(); /* a signal's handler ends the program while it is counted */
    if (mine) atomic_store(&recorder_switch.on, false);
    recorder_unlock();
    if (!mine || (!the->mpi && !the->all)) return;
    the->complete = complete;
    write_files(the);
}

static void clear_heat(recorder *the) {
    memset(the->heat, 0, sizeof the->heat);
    for (int m = 0; m < MODULES; m++) the->heat[m].bin_seconds = FIRST_BIN_SECONDS;
}

static void lock_before_fork(void) { recorder_lock(); }

static void unlock_in_parent(void) {
    recorder_state()->shared_offsets++;
    if (recorder_holds > 1) recorder_partial(); /* the child is not recorded: see below */
    recorder_unlock();
}

/* The child starts with empty counters: its parent writes earlier ones. */
static void begin_again_in_child(void) {
    recorder *the = recorder_state();
    if (recorder_holds > 1) { /* a signal's handler forked while the parent counted */
        atomic_store(&recorder_switch.on, false);
        recorder_unlock();
        return;
    }
    for (record *r = the->all; r; r = r->all) record_clear(r);
    clear_heat(the);
    recorder_data_sets_begin_again();
    the->segments = the->events.used = the->views.used = 0;
    the->plantings = the->aio_used = 0;
    the->awaiting = the->expecting = 0;
    the->storage = (storage_use){0};
    the->hints = 0;
    memset(the->operation_seconds, 0, sizeof the->operation_seconds);
    the->folders = the->entries = 0;
    the->folder_seconds = 0;
    memset(the->duration, 0, sizeof the->duration);
    the->pid = getpid();
    the->forked = true;
    the->shared_offsets++;
    recorder_unlock();
}

__attribute__((constructor)) static void begin(void) {
    recorder *the = recorder_state();
    const char *folder = getenv("IOGAUGE_TRACE_DIR"), *include = getenv("IOGAUGE_TRACE_INCLUDE");
    the->pid = getpid();
    output_learn_stderr(&the->out);
    /* Also without a folder: a child's stderr is followed like its parent's. */
    if (pthread_atfork(lock_before_fork, unlock_in_parent, begin_again_in_child)) return;
    if (!folder || !*folder) return;
    the->folder = strdup(folder);
    the->include = path_include(include ? include : "");
    if (!the->folder) return;
    const char *dxt = getenv("IOGAUGE_TRACE_SEGMENTS");
    if (dxt) the->most_segments = strtoull(dxt, NULL, 10) ? strtoull(dxt, NULL, 10) : DEFAULT_SEGMENTS;
    learn_starter(the);
    clear_heat(the);
    clock_start(&the->clock, clock_has_ticks());
    recorder_switch.ticks = the->clock.ticks;
    the->unix_offset = clock_unix_offset();
    at_quick_exit(recorder_end_now); /* which runs no destructors */
    atomic_store(&recorder_switch.on, true);
}

/* A program without MPI has ended normally here. One with MPI has not called MPI_Finalize, except for a
 * forked child, which never does. */
__attribute__((destructor)) void recorder_end_now(void) {
    const recorder *the = recorder_state();
    recorder_finish(!the->mpi || the->forked);
}

/* Exits that run no destructors. */
#define WRAP_EXIT(NAME)                                                                                      \
    EXPORT _Noreturn void NAME(int status) {                                                                 \
        NEXT(void, NAME, (int));                                                                             \
        recorder_end_now();                                                                                  \
        next(status);                                                                                        \
        for (;;) continue; /* `next` does not return, which the compiler cannot know */                      \
    }
WRAP_EXIT(_exit)
WRAP_EXIT(_Exit)
