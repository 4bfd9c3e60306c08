/* SPDX-License-Identifier: BSD-3-Clause */
/* iokernel: which bytes go where (pattern) times how they are written (method). */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#include "command_line/configure.h"
#include "command_line/help.h"
#include "command_line/list.h"
#include "command_line/options.h"
#include "command_line/plan.h"
#include "compat/s3d_io.h"
#include "driver/guard.h"
#include "driver/pulse.h"
#include "report/json_file.h"
#include "report/libraries.h"
#include "report/table.h"
#include "run/run.h"
#include "run/with_servers.h"

#define EXIT_USAGE 2
/* After a failure the libraries may wait for processes that will not come; nobody waits longer. */
#define SECONDS_TO_END 3
#define SECONDS_TO_CLEAN 30
#define CRASH_FRAMES 32

/* What a crash says; the only state at file scope, because a signal handler gets no argument. */
static const io_world *crashing;

static const struct {
    int number;
    const char *name;
} crashes[] = {
    {SIGSEGV, "SIGSEGV"},
    {SIGBUS,  "SIGBUS" },
    {SIGFPE,  "SIGFPE" },
    {SIGILL,  "SIGILL" },
    {SIGABRT, "SIGABRT"},
};

/* The line that a crash says: written at once, because other processes may say theirs at the same time. */
typedef struct {
    char text[sizeof crashing->doing + sizeof crashing->doing_more + 128];
    size_t length;
} last_line;

static void tell(last_line *line, const char *text) {
    while (*text && line->length < sizeof line->text) line->text[line->length++] = *text++;
}

static void tell_address(last_line *line, uintptr_t address) {
    char text[2 * sizeof address + 1] = "";
    for (size_t i = 2 * sizeof address; i--; address >>= 4) text[i] = "0123456789abcdef"[address & 15];
    tell(line, "0x");
    tell(line, text);
}

/* Which thread it was, where that is not the program's own: a library's may outlive what it works on. */
static void tell_thread(last_line *line) {
#ifdef __linux__
    char name[17] = "";
    if (syscall(SYS_gettid) == getpid() || prctl(PR_GET_NAME, name)) return;
    tell(line, ", in thread ");
    tell(line, name);
#else
    (void)line;
#endif
}

/* The calls that led here: library, function where it has a name, and address, as addr2line takes it. */
static void tell_place(void) {
#ifdef HAS_BACKTRACE
    void *frames[CRASH_FRAMES];
    backtrace_symbols_fd(frames, backtrace(frames, CRASH_FRAMES), STDERR_FILENO);
#endif
}

/* This process's guard, or another's, removes what the run has made on all processes, and ends the job. */
static void wait_for_cleaning(io_pulse *me) {
    const struct timespec tenth = {.tv_nsec = 100000000};
    if (!me) return;
    me->crashed = true;
    for (int i = 0; i < 10 * SECONDS_TO_END && !me->cleaning; i++) nanosleep(&tenth, NULL);
    for (int i = 0; i < 10 * SECONDS_TO_CLEAN && me->cleaning && !me->cleaned; i++) nanosleep(&tenth, NULL);
}

/* One line: who crashed, at what, in which thread, within the phase or after it. `address` may be NULL. */
static bool say_last_line(const char *what, const uintptr_t *address) {
    last_line line = {.length = 0};
    tell(&line, crashing->doing);
    tell(&line, " ("), tell(&line, what);
    if (address) tell(&line, " at "), tell_address(&line, *address);
    tell_thread(&line);
    tell(&line, crashing->doing_over ? ", after it)" : ", within it)");
    tell(&line, crashing->doing_more);
    return write(STDERR_FILENO, line.text, line.length) >= 0;
}

/* A library that crashes leaves one line and where it was, and no partial file that the run made. Only calls
 * that are safe in a signal handler. */
static void crash(int number, siginfo_t *info, void *context) {
    const char *name = "a signal";
    const uintptr_t address = (uintptr_t)info->si_addr;
    (void)context;
    if (!crashing) _exit(EXIT_FAILURE);
    if (crashing->abandon && crashing->doing_remove) unlink(crashing->doing_path);
    if (crashing->ending) _exit(crashing->ending);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (crashes[i].number == number) name = crashes[i].name;
    if (!say_last_line(name, number != SIGABRT && info->si_code > 0 ? &address : NULL)) _exit(EXIT_FAILURE);
    tell_place();
    wait_for_cleaning(crashing->pulse);
    _exit(EXIT_FAILURE);
}

static void after_report(void) {
    if (crashing) say_last_line("AddressSanitizer", NULL);
}

/* Does a sanitizer report crashes itself? Its report says where, and after_report says when. */
static bool sanitizer_reports(void) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(after_report);
    return true;
#else
    (void)after_report;
    return false;
#endif
}

static void catch_crashes(const io_world *world) {
    struct sigaction action = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO};
    crashing = world;
    if (sanitizer_reports()) return;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) sigaction(crashes[i].number, &action, NULL);
#ifdef HAS_BACKTRACE /* its first call loads a library, which a handler must not */
    void *frame;
    backtrace(&frame, 1);
#endif
}

/* The world goes; a crash in what the libraries do at the exit is the launcher's to tell. */
static void forget_crashes(void) {
    crashing = NULL;
    if (sanitizer_reports()) return;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i].number, SIG_DFL);
}

static void end_at_once(int number) {
    (void)number;
    _exit(EXIT_FAILURE);
}

/* MPI_Finalize waits for a process that will not come. Launchers take the number of MPI_Abort; of a process
 * that only leaves, MPICH's kills the others, and says 9 if it was quicker than they were. */
static void abort_job(int number) {
    (void)number;
    signal(SIGALRM, end_at_once);
    alarm(1);
    crashing = NULL;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* After a failure: one process aborts first, because launchers have hung over two at once. */
static void end_soon(const io_world *world) {
    struct sigaction action = {.sa_handler = abort_job, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &action, NULL);
    alarm(world->rank ? SECONDS_TO_END + 1 : SECONDS_TO_END);
}

/* Under mpiexec every process has the same words to say: let one say them, without starting MPI. */
static bool speaks(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank) return !strcmp(rank, "0");
    }
    return true;
}

static int complain(const io_error *error) {
    if (speaks()) fprintf(stderr, "iokernel: error: %s\n", error->text);
    return error->usage ? EXIT_USAGE : EXIT_FAILURE;
}

/* What needs no other process. */
static int alone(io_run *run, io_action action, io_error *error) {
    if (!speaks()) return EXIT_SUCCESS;
    if (action == IO_DO_HELP) io_print_help(run);
    if (action == IO_DO_LIST && io_list(run, error)) return complain(error);
    if (action == IO_DO_VERSION) {
        json_t *libraries = io_libraries();
        char *text = json_dumps(libraries, 0);
        printf("iokernel %s %s\n", IOKERNEL_VERSION, text);
        free(text);
        json_decref(libraries);
    }
    if (action == IO_DO_PLAN && io_plan(run, error)) return complain(error);
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_it(io_run *run, io_world *world) { return io_run_all(run, world, io_print_table, NULL); }

static int together(io_run *run, io_error *error, int (*run_all)(io_run *, io_world *)) {
    io_world world;
    io_guard *guard = NULL;
    int status;
    MPI_Init(NULL, NULL);
    io_world_start(&world);
    catch_crashes(&world);
    if (!error->set && !world.error.set) io_configure(run, (uint64_t)world.size, error);
    if (!error->set && !world.rank && run->json) io_check_json(run->json, error);
    if (error->set) world.error = *error;
    if (io_agree(&world)) {
        io_world_complain(&world);
        status = world.error.usage ? EXIT_USAGE : EXIT_FAILURE;
    } else {
        guard = io_guard_start(&world, run->patience);
        status = io_run_with_servers(run, &world, run_all) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    io_now_at(&world, IO_AT_END);
    if (status == EXIT_FAILURE) end_soon(&world);
    io_world_ending(&world, status);
    MPI_Finalize();
    io_guard_stop(guard);
    forget_crashes();
    io_world_stop(&world);
    return status;
}

int main(int argc, char **argv) {
    io_run run;
    io_action action = IO_DO_RUN;
    io_error error = {0};
    int (*run_all)(io_run *, io_world *) = run_it;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write, not the end of the process */
    const char *slash = strrchr(argv[0], '/');
    if (!strcmp(slash ? slash + 1 : argv[0], IO_S3D_IO_NAME)) {
        io_s3d_io_options(argc, argv, &run, &action, &error);
        run_all = io_s3d_io_run;
    } else {
        io_options(argc, argv, &run, &action, &error);
    }
    int status =
        error.set || action == IO_DO_RUN ? together(&run, &error, run_all) : alone(&run, action, &error);
    io_options_release(&run);
    return status;
}
