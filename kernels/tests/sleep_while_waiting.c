/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the tests' build. A process of MPI that waits polls without a pause, and so keeps a core from the
 * process that it waits for, or from another test if that one hangs. Here it sleeps after some polls: with
 * MPICH, which does not even yield, a run of more processes than cores takes a tenth of the CPU time. */
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>

#ifdef OPEN_MPI
enum { POLLS = 60, SLEEP_NS = 20000, MOST_NS = 1000000 };

typedef int progress_fn(void); /* of Open MPI 4: void */
int opal_progress(void);
int sched_yield(void);

static _Thread_local unsigned idle;
static _Thread_local int yielded;

/* Open MPI yields at the end of a poll without an event. Each sleep is twice as long as the one before. */
int sched_yield(void) {
    static int (*of_libc)(void);
    if (!of_libc) *(void **)&of_libc = dlsym(RTLD_NEXT, "sched_yield");
    yielded = 1;
    if (++idle <= POLLS) return of_libc();
    unsigned more = idle - POLLS - 1;
    return nanosleep(&(struct timespec){.tv_nsec = more < 6 ? SLEEP_NS << more : MOST_NS}, NULL);
}

int opal_progress(void) {
    static progress_fn *of_opal;
    if (!of_opal) *(void **)&of_opal = dlsym(RTLD_NEXT, "opal_progress");
    yielded = 0;
    int events = of_opal();
    if (!yielded) idle = 0;
    return events;
}
#else
enum { POLLS = 100, SLEEP_NS = 20000 };

typedef unsigned progress_fn(void *worker);
unsigned ucp_worker_progress(void *worker);

/* Returns the number of events, as UCX does. MPICH polls where it does not wait, too: each sleep is short. */
unsigned ucp_worker_progress(void *worker) {
    static _Thread_local progress_fn *of_ucx;
    static _Thread_local unsigned idle;
    if (!of_ucx) *(void **)&of_ucx = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = of_ucx(worker);
    idle = events ? 0 : idle + 1;
    if (idle > POLLS) nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    return events;
}
#endif
