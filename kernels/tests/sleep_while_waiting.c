/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the tests' build: a process of MPICH that waits polls UCX without a pause, and so keeps a core
 * from the process that it waits for. Here it sleeps after some polls: a run of more processes than cores
 * takes a tenth of the processor time. */
#include <dlfcn.h>
#include <time.h>

enum { POLLS = 100, SLEEP_NS = 20000 };

typedef unsigned progress_fn(void *worker);
unsigned ucp_worker_progress(void *worker);

/* Returns the number of events, as UCX does. */
unsigned ucp_worker_progress(void *worker) {
    static _Thread_local progress_fn *of_ucx;
    static _Thread_local unsigned idle;
    if (!of_ucx) *(void **)&of_ucx = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = of_ucx(worker);
    idle = events ? 0 : idle + 1;
    if (idle > POLLS) nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    return events;
}
