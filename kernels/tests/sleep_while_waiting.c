/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the tests' build. A process of MPI that waits polls without a pause, and so keeps a core from the
 * process that it waits for, or from another test if that one hangs. Here it sleeps after some polls: with
 * MPICH, which does not even yield, a run of more processes than cores takes a tenth of the CPU time. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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
enum { POLLS = 100, SLEEP_NS = 20000, FIRST_NS = 500000, AGAIN_NS = 50000, LOOP_SLEEP_NS = 1000000 };
enum { LOOP_BYTES = 64 };

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

typedef struct {
    timer_t timer;
    struct dl_find_object library;
    uintptr_t last;
} watch_t;

static watch_t *watch(void) {
    static watch_t the_only_one;
    return &the_only_one;
}

static void look_in(long ns) {
    timer_settime(watch()->timer, 0, &(struct itimerspec){.it_value.tv_nsec = ns}, NULL);
}

static uintptr_t interrupted_at(const ucontext_t *context) {
#ifdef __x86_64__
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* In MPI_Init and MPI_Finalize MPICH also waits in loops that call nothing. A process that is twice at the
 * same place of the library sleeps. */
static void sleep_in_loop(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    watch_t *w = watch();
    uintptr_t at = interrupted_at(context), low = (uintptr_t)w->library.dlfo_map_start;
    int in_library = at >= low && at < (uintptr_t)w->library.dlfo_map_end;
    int looping = in_library && at + LOOP_BYTES > w->last && at < w->last + LOOP_BYTES;
    if (looping) nanosleep(&(struct timespec){.tv_nsec = LOOP_SLEEP_NS}, NULL);
    w->last = at;
    look_in(looping ? AGAIN_NS : FIRST_NS);
}

static int begin_watch(void) {
    struct sigaction action = {.sa_sigaction = sleep_in_loop, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event._sigev_un._tid = gettid(); /* glibc has no other name for it */
    if (_dl_find_object(dlsym(RTLD_DEFAULT, "PMPI_Init"), &watch()->library)) return 0;
    if (sigaction(SIGURG, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &watch()->timer)) return 0;
    look_in(FIRST_NS);
    return 1;
}

int MPI_Init(int *argc, char ***argv) {
    int (*of_mpich)(int *argc, char ***argv);
    *(void **)&of_mpich = dlsym(RTLD_NEXT, "MPI_Init");
    int watched = begin_watch();
    int rc = of_mpich(argc, argv);
    if (watched) timer_delete(watch()->timer);
    return rc;
}

int MPI_Finalize(void) {
    int (*of_mpich)(void);
    *(void **)&of_mpich = dlsym(RTLD_NEXT, "MPI_Finalize");
    int watched = begin_watch();
    int rc = of_mpich();
    if (watched) timer_delete(watch()->timer);
    return rc;
}
#endif
