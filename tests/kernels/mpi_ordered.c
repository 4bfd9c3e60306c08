/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes 0 and 1 of three write the same bytes with pwrite. For test_recorder_order.py.
 *
 *     mpi_ordered FILE KIND    how they are ordered, or seem to be
 *
 * Process 0 writes between before() and after(), process 1 between arrive() and leave(). */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "mpi_check.h"

#define BYTES 100
#define WORLD MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE

static char token = 'a', all[3];
static int counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
static const char *kind;
static MPI_Comm other, pair;
static MPI_Request request = MPI_REQUEST_NULL;

static bool is(const char *name) { return !strcmp(kind, name); }
static void give(int to, int tag, MPI_Comm comm) { CHECK(MPI_Send(&token, 1, MPI_BYTE, to, tag, comm)); }
static void take(int from, int tag, MPI_Comm comm) {
    CHECK(MPI_Recv(&token, 1, MPI_BYTE, from, tag, comm, ANY));
}

/* What all three call between the two writes, or in racy kinds around them. */
static void collective(void) {
    if (is("broadcast") || is("broadcast-from-1"))
        CHECK(MPI_Bcast(&token, 1, MPI_BYTE, is("broadcast") ? 0 : 1, WORLD));
    else if (is("reduce") || is("reduce-to-0"))
        CHECK(MPI_Reduce(&token, all, 1, MPI_BYTE, MPI_BOR, is("reduce") ? 1 : 0, WORLD));
    else if (is("gather") || is("gather-to-0"))
        CHECK(MPI_Gather(&token, 1, MPI_BYTE, all, 1, MPI_BYTE, is("gather") ? 1 : 0, WORLD));
    else if (is("scatter") || is("scatter-from-1"))
        CHECK(MPI_Scatter(all, 1, MPI_BYTE, &token, 1, MPI_BYTE, is("scatter") ? 0 : 1, WORLD));
    else if (is("allgatherv"))
        CHECK(MPI_Allgatherv(&token, 1, MPI_BYTE, all, counts, places, MPI_BYTE, WORLD));
    else if (is("gather-scatter")) {
        CHECK(MPI_Gather(&token, 1, MPI_BYTE, all, 1, MPI_BYTE, 2, WORLD));
        CHECK(MPI_Scatter(all, 1, MPI_BYTE, &token, 1, MPI_BYTE, 2, WORLD));
    } else if (is("ibarrier")) {
        CHECK(MPI_Ibarrier(WORLD, &request));
        CHECK(MPI_Wait(&request, ANY));
    }
}

static void before(void) {
    if (is("other-tag")) give(1, 1, WORLD);
    if (is("other-communicator")) give(1, 1, other);
    if (is("early-send")) CHECK(MPI_Isend(&token, 1, MPI_BYTE, 1, 1, WORLD, &request));
}

static void after(void) {
    if (is("send") || is("wildcard") || is("waited") || is("waited-all") || is("late-wait"))
        give(1, 1, WORLD);
    if (is("isend")) CHECK(MPI_Isend(&token, 1, MPI_BYTE, 1, 1, WORLD, &request));
    if (is("isend") || is("early-send")) CHECK(MPI_Wait(&request, ANY));
    if (is("sendrecv")) CHECK(MPI_Sendrecv(&token, 1, MPI_BYTE, 1, 1, all, 1, MPI_BYTE, 1, 1, WORLD, ANY));
    if (is("duplicate")) give(1, 1, other);
    if (is("split")) give(1, 1, pair);
    if (is("chain")) give(2, 1, WORLD);
    if (is("other-tag")) give(1, 2, WORLD);
    if (is("other-communicator")) give(1, 1, WORLD);
    if (is("answer")) take(1, 1, WORLD);
}

static void arrive(void) {
    if (is("send") || is("isend") || is("other-tag") || is("early-send")) take(0, 1, WORLD);
    if (is("wildcard")) take(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD);
    if (is("waited") || is("waited-all") || is("late-wait"))
        CHECK(MPI_Irecv(all, 1, MPI_BYTE, 0, 1, WORLD, &request));
    if (is("waited")) CHECK(MPI_Wait(&request, ANY));
    if (is("waited-all")) CHECK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
    if (is("sendrecv")) CHECK(MPI_Sendrecv(&token, 1, MPI_BYTE, 0, 1, all, 1, MPI_BYTE, 0, 1, WORLD, ANY));
    if (is("duplicate") || is("other-communicator")) take(0, 1, other);
    if (is("split")) take(0, 1, pair);
    if (is("chain")) take(2, 1, WORLD);
    if (is("answer")) give(0, 1, WORLD);
}

static void leave(void) {
    if (is("late-wait")) CHECK(MPI_Wait(&request, ANY));
    if (is("other-tag")) take(0, 2, WORLD);
    if (is("other-communicator")) take(0, 1, WORLD);
}

static void lock(int fd, int guard, short how) {
    struct flock range = {.l_type = how, .l_whence = SEEK_SET};
    int status = 0;
    if (is("flock")) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if (is("lock-file")) status = flock(guard, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if (is("shared-locks")) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_SH);
    if (is("record-lock")) status = fcntl(fd, F_SETLKW, &range);
    if (is("ofd-lock")) status = fcntl(fd, F_OFD_SETLKW, &range);
    if (status) MPI_Abort(WORLD, 3);
}

static void put(int fd, int guard) {
    lock(fd, guard, F_WRLCK);
    if (pwrite(fd, "x", 1, 0) != 1 || pwrite(fd, kind, 1, BYTES) != 1) MPI_Abort(WORLD, 1);
    lock(fd, guard, F_UNLCK);
}

int main(int argc, char **argv) {
    int rank;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    if (argc != 3) MPI_Abort(WORLD, 2);
    kind = argv[2];
    snprintf(name, sizeof name, "%s.lock", argv[1]);
    int fd = open(argv[1], O_RDWR | O_CREAT, 0666), guard = open(name, O_RDWR | O_CREAT, 0666);
    CHECK(MPI_Comm_dup(WORLD, &other));
    CHECK(MPI_Comm_split(WORLD, rank < 2 ? 0 : 1, rank, &pair));
    CHECK(MPI_Barrier(WORLD));
    if (rank == 0) {
        before();
        put(fd, guard);
        after();
        collective();
    } else if (rank == 1) {
        arrive();
        collective();
        put(fd, guard);
        leave();
    } else {
        if (is("chain")) {
            take(0, 1, WORLD);
            give(1, 1, WORLD);
        }
        collective();
    }
    CHECK(MPI_Barrier(WORLD));
    close(fd);
    close(guard);
    CHECK(MPI_Comm_free(&other));
    MPI_Finalize();
    return 0;
}
