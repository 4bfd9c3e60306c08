/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/startup.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/waiting.h"
#include "driver/world.h"

#define CHECKS 8 /* checks per limit, but at least one per second */
/* Most launchers end the job when one process ends. Processes give up at different times, so that only one
 * line is printed; where MPI_Init ends them, each prints its own. */
#define SECONDS_APART 2

/* The MPIs that loaded libraries, or those that they need, have. */
typedef struct {
    void *init; /* of the first */
    Dl_info first, second;
    const char *by; /* the library that has the second */
} loaded_mpis;

/* A tool between program and MPI has the same functions, and another name. */
static bool is_mpi(const char *path) {
    const char *slash = strrchr(path, '/');
    return !strncmp(slash ? slash + 1 : path, "libmp", strlen("libmp"));
}

/* Goes through the loaded libraries, in the form of dl_iterate_phdr; 1 ends it. */
static int find_second_mpi(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    loaded_mpis *found = data;
    Dl_info here;
    void *library = info->dlpi_name[0] ? dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library) return 0;
    void *init = dlsym(library, "PMPI_Init");
    dlclose(library);
    if (!init || init == found->init || !dladdr(init, &here) || !is_mpi(here.dli_fname)) return 0;
    if (!found->init) {
        found->init = init;
        found->first = here;
        return 0;
    }
    found->second = here;
    found->by = info->dlpi_name;
    return 1;
}

int io_startup_one_mpi(io_error *error) {
    loaded_mpis found = {0};
    dl_iterate_phdr(find_second_mpi, &found);
    if (!found.by) return 0;
    return io_fail(
        error,
        "two MPIs are loaded, %s and %s (by %s): build iokernel with libraries of one MPI, or check "
        "LD_LIBRARY_PATH",
        found.first.dli_fname, found.second.dli_fname, found.by);
}

struct io_startup {
    double limit, interval;
    int rank;
    atomic_bool initialized;
    bool done;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void io_startup_failed(int rank, const char *cause) {
    char host[IO_HOST_NAME] = "?", who[32] = "a process";
    gethostname(host, sizeof host - 1);
    if (rank >= 0) snprintf(who, sizeof who, "process %d", rank);
    if (!io_print_error("%s on %s (pid %ld): MPI did not start: %s; "
                        "check the launcher and the network between the nodes",
                        who, host, (long)getpid(), cause))
        _exit(EXIT_FAILURE);
    io_wait_to_be_heard();
}

static _Noreturn void give_up(const io_startup *s) {
    char cause[128];
    snprintf(cause, sizeof cause, "%s within %g s (--start-limit)",
             s->initialized ? "MPI_Init returned, but not all processes arrived" : "MPI_Init did not return",
             s->limit);
    io_startup_failed(s->rank, cause);
    _exit(EXIT_FAILURE);
}

/* The first process gives up first, then others in MPI_Init, then those waiting for them. */
static double own_limit(const io_startup *s) {
    return s->limit + SECONDS_APART * (s->initialized ? 2 : s->rank > 0);
}

/* Time while the process was suspended does not count. */
static void *watch(void *data) {
    io_startup *s = data;
    double waited = 0;
    pthread_mutex_lock(&s->lock);
    for (double before = io_monotonic_seconds(), after; !s->done && waited < own_limit(s); before = after) {
        io_wait_seconds(&s->wake, &s->lock, s->interval);
        after = io_monotonic_seconds();
        waited += after - before < 2 * s->interval ? after - before : 2 * s->interval;
    }
    bool done = s->done;
    pthread_mutex_unlock(&s->lock);
    if (!done) give_up(s);
    return NULL;
}

/* Signals are for the program and its libraries. */
static bool start_thread(io_startup *s) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&s->thread, NULL, watch, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

io_startup *io_startup_watch(double limit, int rank) {
    io_startup *s = limit > 0 ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->limit = limit;
    s->interval = limit < CHECKS ? limit / CHECKS : 1;
    s->rank = rank;
    pthread_mutex_init(&s->lock, NULL);
    io_wait_init(&s->wake);
    if (start_thread(s)) return s;
    free(s);
    return NULL;
}

void io_startup_initialized(io_startup *s) {
    if (s) s->initialized = true;
}

void io_startup_done(io_startup *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->done = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    free(s);
}
