/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes write the same 100 bytes of a file. For test_recorder_blame.py and docs/how-to/blame.md.
 *
 *     mpi_race FILE none|barrier|sync|message|broadcast|fence|sync-message    between the two writes
 *
 * Only `sync` (sync, barrier, sync) and `sync-message` are an order for MPI-IO; for POSIX all but `none` are.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi_check.h"

#define N 1000
#define SHARED 100

static void exchange(int rank) {
    char token = 'a';
    if (rank)
        CHECK(MPI_Recv(&token, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        CHECK(MPI_Send(&token, 1, MPI_BYTE, 1, 7, MPI_COMM_WORLD));
}

static void fence(void) {
    MPI_Win window;
    char *memory;
    CHECK(MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    CHECK(MPI_Win_fence(0, window));
    CHECK(MPI_Win_free(&window));
}

static void stand_between(MPI_File f, const char *order, int rank) {
    char token = 'a';
    if (!strncmp(order, "sync", 4)) CHECK(MPI_File_sync(f));
    if (strstr(order, "message")) exchange(rank);
    if (!strcmp(order, "broadcast")) CHECK(MPI_Bcast(&token, 1, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (!strcmp(order, "fence")) fence();
    if (!strcmp(order, "barrier") || !strcmp(order, "sync")) CHECK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strncmp(order, "sync", 4)) CHECK(MPI_File_sync(f));
}

int main(int argc, char **argv) {
    char data[N];
    int rank;
    MPI_File f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) {
        fprintf(stderr, "expected FILE none|barrier|sync, found %d words\n", argc - 1);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(data, 'a' + rank, N);
    CHECK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    /* Opening and closing by all may order: no process closes the file while another one opens it. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    for (int writer = 0; writer < 2; writer++) {
        MPI_Offset at = (MPI_Offset)writer * (N - SHARED);
        if (rank == writer) CHECK(MPI_File_write_at(f, at, data, N, MPI_BYTE, MPI_STATUS_IGNORE));
        if (writer == 0) stand_between(f, argv[2], rank);
        if (writer == 0 && !strcmp(argv[2], "reopen")) {
            CHECK(MPI_File_close(&f));
            CHECK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &f));
        }
    }
    CHECK(MPI_File_close(&f));
    MPI_Finalize();
    return 0;
}
