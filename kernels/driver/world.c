/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/world.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver/pulse.h"
#include "driver/waiting.h"

MPI_Comm io_node_leaders(const io_world *w) {
    MPI_Comm leaders;
    IO_MPI(w, MPI_Comm_split, w->comm, w->first_on_node ? 0 : MPI_UNDEFINED, w->rank, &leaders);
    return leaders;
}

bool io_root_is_able(const io_world *w, MPI_Comm comm, bool able) {
    int all = able;
    IO_MPI(w, MPI_Bcast, &all, 1, MPI_INT, 0, comm);
    return all;
}

static int gather_hosts(io_world *w, MPI_Comm leaders) {
    char host[IO_HOST_NAME] = "";
    gethostname(host, sizeof host - 1);
    if (w->rank == 0) w->hosts = calloc((size_t)w->nodes, IO_HOST_NAME);
    if (w->rank == 0 && !w->hosts)
        io_fail(&w->error, "out of memory for %d host names; free memory on this node", w->nodes);
    if (!io_root_is_able(w, leaders, w->hosts)) return -1;
    IO_MPI(w, MPI_Gather, host, IO_HOST_NAME, MPI_CHAR, w->hosts, IO_HOST_NAME, MPI_CHAR, 0, leaders);
    return 0;
}

/* With the processes of a node in consecutive positions, whatever their ranks, a shift by the size of the
 * largest node moves as many as possible to another one. */
static int shift_by_a_node(const io_world *w) {
    int node = w->rank, position, other;
    MPI_Comm by_node;
    if (w->nodes == 1) return (w->rank + 1) % w->size;
    IO_MPI(w, MPI_Bcast, &node, 1, MPI_INT, 0, w->node);
    IO_MPI(w, MPI_Comm_split, w->comm, 0, node, &by_node);
    IO_MPI(w, MPI_Comm_rank, by_node, &position);
    IO_MPI(w, MPI_Sendrecv, &w->rank, 1, MPI_INT, (position + w->size - w->per_node) % w->size, 0, &other, 1,
           MPI_INT, (position + w->per_node) % w->size, 0, by_node, MPI_STATUS_IGNORE);
    IO_MPI(w, MPI_Comm_free, &by_node);
    return other;
}

/* Ranks and nodes; `hosts`: gather host names too. */
static int find_placement(io_world *w, bool hosts) {
    int node_rank, node_size;
    w->nodes = 1;
    IO_MPI(w, MPI_Comm_rank, w->comm, &w->rank);
    IO_MPI(w, MPI_Comm_size, w->comm, &w->size);
    IO_MPI(w, MPI_Comm_split_type, w->comm, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &w->node);
    IO_MPI(w, MPI_Comm_rank, w->node, &node_rank);
    IO_MPI(w, MPI_Comm_size, w->node, &node_size);
    w->first_on_node = node_rank == 0;
    MPI_Comm leaders = io_node_leaders(w);
    int status = 0;
    if (w->first_on_node) {
        IO_MPI(w, MPI_Comm_size, leaders, &w->nodes);
        if (hosts) status = gather_hosts(w, leaders);
        IO_MPI(w, MPI_Comm_free, &leaders);
    }
    int mine[2] = {w->first_on_node ? w->nodes : 0, node_size}, most[2];
    IO_MPI(w, MPI_Allreduce, mine, most, 2, MPI_INT, MPI_MAX, w->comm);
    w->nodes = most[0];
    w->per_node = most[1];
    w->shifted = shift_by_a_node(w);
    return status;
}

/* Prepares the message of a crash: "process 1 on n2". */
static void prepare_message(io_world *w, const char *what) {
    char host[IO_HOST_NAME] = "?";
    gethostname(host, sizeof host - 1);
    w->doing_over = false;
    w->doing_remove = false; /* before the path changes: a crash may happen at any time */
    snprintf(w->doing, sizeof w->doing, "iokernel: error: process %d on %s: %s", w->rank, host, what);
}

static const char REPORT_IT[] =
    "report it to the library, with its version (iokernel --version) and this command\n";

int io_world_start(io_world *w) {
    *w = (io_world){.comm = MPI_COMM_WORLD, .epoch = 1e-9 * (double)clock_unix_offset()};
    IO_MPI(w, MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    IO_MPI(w, MPI_Comm_set_errhandler, MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int status = find_placement(w, true);
    w->job_size = w->size;
    w->job_nodes = w->nodes;
    w->job_per_node = w->per_node;
    prepare_message(w, "MPI crashed before the run began");
    snprintf(w->doing_more, sizeof w->doing_more, ": %s", REPORT_IT);
    return status;
}

int io_world_narrow(io_world *w, MPI_Comm comm) {
    w->comm = comm;
    IO_MPI(w, MPI_Comm_free, &w->node);
    return find_placement(w, false);
}

void io_world_stop(io_world *w) { free(w->hosts); }

#define SECONDS_TO_ABORT 10

static void end_at_once(int number) {
    (void)number;
    _exit(EXIT_FAILURE);
}

/* The first process that gives up ends the others: launchers have hung when two aborted at the same time. If
 * MPI_Abort does not end it, its exit does: launchers end the others then. */
static void give_up(const io_world *w, const io_error *error) {
    int rank;
    if (w->pulse) io_now_failed(w->pulse, error);
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank)) rank = w->rank;
    if (rank > 0) sleep(1 + (unsigned)(rank - 1) % 4);
    io_print_error("%s", error->text);
    if (w->abandon) w->abandon(w->abandon_data, error->text, IO_ENDS_FAILED);
    io_wait_to_be_heard();
    signal(SIGALRM, end_at_once);
    alarm(SECONDS_TO_ABORT);
    MPI_Abort(w->comm, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

void io_world_give_up(const io_world *w) { give_up(w, &w->error); }

void io_mpi_failed(const io_world *w, const char *call, int code) {
    io_error error = w->error; /* what failed before is why */
    io_fail_mpi(&error, call, NULL, code);
    give_up(w, &error);
}

/* Waits for the other processes, in one or two requests, and leaves the core to them or to other jobs
 * meanwhile: a library that polls would take it from a call that is being timed. A process that has failed
 * gives up after IO_PEER_SECONDS: they may wait for it in a library. */
static void wait_for_peers(io_world *w, int n, MPI_Request requests[]) {
    const struct timespec little = {.tv_nsec = 1000000};
    double end = io_monotonic_seconds() + IO_PEER_SECONDS;
    MPI_Status statuses[2];
    io_now_at(w, IO_AT_OTHERS);
    for (int done = 0; !done;) {
        IO_MPI(w, MPI_Testall, n, requests, &done, statuses);
        if (done) break;
        if (!w->error.set) {
            sched_yield();
            continue;
        }
        if (io_monotonic_seconds() > end) give_up(w, &w->error);
        nanosleep(&little, NULL);
    }
}

void io_meet(io_world *w) {
    MPI_Request request;
    IO_MPI(w, MPI_Ibarrier, w->comm, &request);
    wait_for_peers(w, 1, &request);
}

void io_reduce_max(io_world *w, MPI_Comm comm, const double *mine, double *most, int n) {
    MPI_Request request;
    IO_MPI(w, MPI_Iallreduce, mine, most, n, MPI_DOUBLE, MPI_MAX, comm, &request);
    wait_for_peers(w, 1, &request);
}

double io_node_seconds(io_world *w, double began, double ended) {
    double times[] = {-began, ended}, most[2];
    io_reduce_max(w, w->node, times, most, 2);
    return most[1] > -INFINITY ? most[0] + most[1] : 0;
}

int io_agree(io_world *w) {
    int mine[2] = {w->error.set ? w->rank : INT_MAX, w->rank}, first[2];
    int one = w->error.set, all = 0;
    MPI_Request requests[2];
    IO_MPI(w, MPI_Iallreduce, mine, first, 1, MPI_2INT, MPI_MINLOC, w->comm, &requests[0]);
    IO_MPI(w, MPI_Iallreduce, &one, &all, 1, MPI_INT, MPI_SUM, w->comm, &requests[1]);
    wait_for_peers(w, 2, requests);
    if (!all) return 0;
    w->failed = all;
    IO_MPI(w, MPI_Bcast, &w->error, sizeof w->error, MPI_BYTE, first[1], w->comm);
    return -1;
}

void io_world_doing(io_world *w, const char *phase, const char *method, const char *path) {
    char what[96];
    snprintf(what, sizeof what, "the library crashed in phase %s of method %s", phase, method);
    prepare_message(w, what);
    snprintf(w->doing_more, sizeof w->doing_more, ": %s; %s", path, REPORT_IT);
    snprintf(w->doing_path, sizeof w->doing_path, "%s", path);
    if (!w->pulse) return;
    snprintf(w->pulse->phase, sizeof w->pulse->phase, "%s", phase);
    snprintf(w->pulse->method, sizeof w->pulse->method, "%s", method);
    snprintf(w->pulse->path, sizeof w->pulse->path, "%s", path);
    io_now_at(w, IO_AT_OTHERS);
}

void io_world_ending(io_world *w, int status) {
    w->ending = status;
    prepare_message(w, "MPI crashed in MPI_Finalize");
    snprintf(w->doing_more, sizeof w->doing_more,
             ": the run had ended, and has reported its result; report the crash to the library\n");
}

void io_world_done(io_world *w) { w->doing_over = true; }

void io_world_doing_file(io_world *w, const char *phase, const char *method, const char *path, bool remove) {
    io_world_doing(w, phase, method, path);
    w->doing_remove = remove;
}

void io_world_print_error(const io_world *w) {
    if (w->rank) return;
    char more[48] = "";
    if (w->failed > 1 && !w->error.usage && !w->error.relayed)
        snprintf(more, sizeof more, " (and %d more processes)", w->failed - 1);
    io_print_error("%s%s", w->error.text, more);
}
