/* SPDX-License-Identifier: BSD-3-Clause */
/* iokernel: which bytes go where (pattern) times how they are written (method). */
#include <signal.h>
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
#include "driver/guard.h"
#include "report/libraries.h"
#include "report/table.h"
#include "run/run.h"
#include "run/with_servers.h"

#define EXIT_USAGE 2
/* After a failure the libraries may wait for processes that will not come; nobody waits longer. */
#define SECONDS_TO_END 3

/* What a crash says; the only state at file scope, because a signal handler gets no argument. */
static const io_world *crashing;

/* A library that crashes leaves one line, not a stack, and no partial file that the run made. Only calls that
 * are safe in a signal handler. */
static void crash(int number) {
    (void)number;
    if (crashing && crashing->abandon && crashing->doing_remove) unlink(crashing->doing_path);
    if (crashing && write(STDERR_FILENO, crashing->doing, strlen(crashing->doing)) < 0) _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

static void catch_crashes(const io_world *world) {
#ifdef __SANITIZE_ADDRESS__ /* which has a better report */
    (void)crash;
#else
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], crash);
#endif
    crashing = world;
}

static void end_now(int number) {
    (void)number;
    _exit(EXIT_FAILURE);
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
    if (error->set) world.error = *error;
    if (io_agree(&world)) {
        io_world_complain(&world);
        status = world.error.usage ? EXIT_USAGE : EXIT_FAILURE;
    } else {
        guard = io_guard_start(&world, run->patience);
        status = io_run_with_servers(run, &world, run_all) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    io_now_at(&world, IO_AT_END);
    if (status == EXIT_FAILURE) {
        signal(SIGALRM, end_now);
        alarm(SECONDS_TO_END);
    }
    MPI_Finalize();
    io_guard_stop(guard);
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
