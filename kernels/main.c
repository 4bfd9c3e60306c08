/* SPDX-License-Identifier: BSD-3-Clause */
/* iokernel: writes and reads data of a pattern (which bytes go where) with a method (how they are
 * written). */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_line/configure.h"
#include "command_line/help.h"
#include "command_line/list.h"
#include "command_line/options.h"
#include "command_line/plan.h"
#include "compat/s3d_io.h"
#include "driver/crash.h"
#include "driver/guard.h"
#include "driver/pulse.h"
#include "driver/startup.h"
#include "report/json_file.h"
#include "report/libraries.h"
#include "report/table.h"
#include "run/run.h"
#include "run/with_servers.h"

#define EXIT_USAGE 2
/* After a failure, libraries may wait for processes that never arrive. */
#define SECONDS_TO_END 3

/* The current run, and whether MPI_Init is running, for handlers. They take no argument, so this is the only
 * state at file scope. */
static io_world *running;
static bool starting;

static void on_crash(int number, siginfo_t *info, void *context) {
    (void)context;
    io_crash_end(running, number, info);
}

static void on_sanitizer_report(void) { io_crash_report(running); }

static void end_at_once(int number) {
    (void)number;
    _exit(EXIT_FAILURE);
}

/* MPI_Finalize would wait for a process that never arrives. Launchers return the exit code given to
 * MPI_Abort. If a process merely exits, MPICH's launcher kills the others and may return 9. */
static void abort_job(int number) {
    (void)number;
    signal(SIGALRM, end_at_once);
    alarm(1);
    running = NULL;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* After a failure. One process aborts first: launchers have hung when two did at the same time. */
static void end_soon(const io_world *world) {
    struct sigaction action = {.sa_handler = abort_job, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &action, NULL);
    alarm(world->rank ? SECONDS_TO_END + 1 : SECONDS_TO_END);
}

/* This process's rank according to the launcher, before MPI_Init; -1 without a launcher. */
static int launched_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank) return atoi(rank);
    }
    return -1;
}

/* MPI_Init ends a process that it cannot start; what the MPI prints of that differs. */
static void end_within_init(void) {
    if (starting) io_startup_failed(launched_rank(), "MPI_Init failed");
}

/* Without MPI all processes of a launcher do the same work, and only the first one prints. */
static bool is_first_process(void) { return launched_rank() <= 0; }

static int print_error(const io_error *error) {
    if (is_first_process()) io_print_error("%s", error->text);
    return error->usage ? EXIT_USAGE : EXIT_FAILURE;
}

static void print_version(void) {
    json_t *libraries = io_libraries();
    char *text = json_dumps(libraries, 0);
    printf("iokernel %s %s\n", IOKERNEL_VERSION, text);
    free(text);
    json_decref(libraries);
}

static int act_without_mpi(io_run *run, io_action action, io_error *error) {
    if (!is_first_process()) return EXIT_SUCCESS;
    if (action == IO_DO_HELP) io_print_help(run);
    if (action == IO_DO_LIST && io_list(run, error)) return print_error(error);
    if (action == IO_DO_VERSION) print_version();
    if (action == IO_DO_PLAN && io_plan(run, error)) return print_error(error);
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_and_print_table(io_run *run, io_world *world) {
    return io_run_all(run, world, io_print_table, NULL);
}

/* From MPI_Init to MPI_Finalize. An `error` in the command line is reported once, by all processes
 * together. */
static int run_with_mpi(io_run *run, io_error *error, int (*run_all)(io_run *, io_world *)) {
    io_world world;
    io_guard *guard = NULL;
    int status;
    io_startup *startup = io_startup_watch(run->start_limit, launched_rank());
    starting = !atexit(end_within_init);
    MPI_Init(NULL, NULL);
    starting = false;
    io_startup_initialized(startup);
    io_world_start(&world);
    running = &world;
    io_crash_catch(on_crash, on_sanitizer_report);
    if (!error->set && !world.error.set) io_configure(run, (uint64_t)world.size, error);
    if (!error->set && !world.rank && run->json) io_check_json(run->json, error);
    if (error->set) world.error = *error;
    bool failed = io_agree(&world);
    if (!failed) guard = io_guard_start(&world, run->patience);
    io_startup_done(startup);
    if (failed) {
        io_world_print_error(&world);
        status = world.error.usage ? EXIT_USAGE : EXIT_FAILURE;
    } else {
        status = io_run_with_servers(run, &world, run_all) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    io_now_at(&world, IO_AT_END);
    if (status == EXIT_FAILURE) end_soon(&world);
    io_world_ending(&world, status);
    if (status != EXIT_FAILURE) IO_MPI(&world, MPI_Comm_free, &world.node);
    MPI_Finalize();
    io_guard_stop(guard);
    running = NULL;
    io_crash_release();
    io_world_stop(&world);
    return status;
}

int main(int argc, char **argv) {
    io_run run;
    io_action action = IO_DO_RUN;
    io_error error = {0};
    int (*run_all)(io_run *, io_world *) = run_and_print_table;
    if (io_startup_one_mpi(&error)) return print_error(&error);
    signal(SIGXFSZ, SIG_IGN); /* writing past the file size limit then returns EFBIG */
    const char *slash = strrchr(argv[0], '/');
    if (!strcmp(slash ? slash + 1 : argv[0], IO_S3D_IO_NAME)) {
        io_s3d_io_options(argc, argv, &run, &action, &error);
        run_all = io_s3d_io_run;
    } else {
        io_options(argc, argv, &run, &action, &error);
    }
    int status = error.set || action == IO_DO_RUN ? run_with_mpi(&run, &error, run_all)
                                                  : act_without_mpi(&run, action, &error);
    io_options_release(&run);
    return status;
}
