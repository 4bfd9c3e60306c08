/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/crash.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAS_BACKTRACE
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include "driver/pulse.h"

/* Time for a guard to start removing files, and to finish. */
#define SECONDS_TO_BEGIN 3
#define SECONDS_TO_CLEAN 30
#define FRAMES 32

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"},
    {SIGBUS,  "SIGBUS" },
    {SIGFPE,  "SIGFPE" },
    {SIGILL,  "SIGILL" },
    {SIGABRT, "SIGABRT"},
};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* A message written by a single call, because other processes may write at the same time. */
typedef struct {
    char text[sizeof((io_world *)0)->doing + sizeof((io_world *)0)->doing_more + 128];
    size_t length;
} message;

static void append(message *m, const char *text) {
    while (*text && m->length < sizeof m->text) m->text[m->length++] = *text++;
}

static void append_address(message *m, uintptr_t address) {
    char text[2 * sizeof address + 1] = "";
    for (size_t i = 2 * sizeof address; i--; address >>= 4) text[i] = "0123456789abcdef"[address & 15];
    append(m, "0x");
    append(m, text);
}

static int this_thread(void) {
#ifdef __linux__
    return (int)syscall(SYS_gettid);
#else
    return (int)getpid();
#endif
}

/* The thread, if it is not the main one: a library's thread may outlive the data it works on. */
static void append_thread(message *m) {
#ifdef __linux__
    char name[17] = "";
    if (this_thread() == getpid() || prctl(PR_GET_NAME, name)) return;
    append(m, ", in thread ");
    append(m, name);
#else
    (void)m;
#endif
}

/* `address` may be NULL. */
static bool print_message(const io_world *world, const char *cause, const uintptr_t *address) {
    message m = {.length = 0};
    append(&m, world->doing);
    append(&m, " ("), append(&m, cause);
    if (address) append(&m, " at "), append_address(&m, *address);
    append_thread(&m);
    append(&m, world->doing_over ? ", after it)" : ", within it)");
    append(&m, world->doing_more);
    return write(STDERR_FILENO, m.text, m.length) >= 0;
}

/* The calls that led here: library, function if known, and the address for addr2line. Finding them crashes if
 * the code that ran has been unloaded: the handler then begins again, so its signals must not be blocked. */
static void print_backtrace(void) {
#ifdef HAS_BACKTRACE
    void *frames[FRAMES];
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int i = 0; i < SIGNALS; i++) sigaddset(&blocked, signals[i].number);
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
#endif
}

/* A guard, of this process or another, removes the run's files and ends the job. */
static void wait_for_cleaning(io_pulse *me) {
    const struct timespec tenth = {.tv_nsec = 100000000};
    if (!me) return;
    me->crashed = true;
    for (int i = 0; i < 10 * SECONDS_TO_BEGIN && !me->cleaning; i++) nanosleep(&tenth, NULL);
    for (int i = 0; i < 10 * SECONDS_TO_CLEAN && me->cleaning && !me->cleaned; i++) nanosleep(&tenth, NULL);
}

/* Does this thread report the crash? Another one that crashes meanwhile waits for the end. */
static bool begins_to_report(io_world *world) {
    int reporter = 0;
    if (atomic_compare_exchange_strong(&world->crashed_thread, &reporter, this_thread())) return true;
    while (reporter != this_thread()) pause();
    return false; /* it has crashed once more, in print_backtrace() */
}

static _Noreturn void leave(const io_world *world) {
    wait_for_cleaning(world->pulse);
    _exit(EXIT_FAILURE);
}

void io_crash_end(io_world *world, int number, const siginfo_t *info) {
    const char *name = "a signal";
    const uintptr_t address = (uintptr_t)info->si_addr;
    const bool has_address = number != SIGABRT && info->si_code > 0;
    if (!world) _exit(EXIT_FAILURE);
    if (!begins_to_report(world)) leave(world);
    if (world->abandon && world->doing_remove) unlink(world->doing_path);
    if (world->ending) _exit(world->ending);
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i].number == number) name = signals[i].name;
    if (!print_message(world, name, has_address ? &address : NULL)) _exit(EXIT_FAILURE);
    print_backtrace();
    leave(world);
}

void io_crash_report(const io_world *world) {
    if (world) print_message(world, "AddressSanitizer", NULL);
}

void io_crash_catch(void (*handler)(int, siginfo_t *, void *), void (*report)(void)) {
#ifdef __SANITIZE_ADDRESS__
    (void)handler;
    __sanitizer_set_death_callback(report);
#else
    (void)report;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &action, NULL);
#ifdef HAS_BACKTRACE /* the first call loads a library, which is not safe in a handler */
    void *frame;
    backtrace(&frame, 1);
#endif
#endif
}

void io_crash_release(void) {
#ifndef __SANITIZE_ADDRESS__
    for (int i = 0; i < SIGNALS; i++) signal(signals[i].number, SIG_DFL);
#endif
}
