/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes write the same 100 bytes of a file. For test_recorder_blame.py and docs/how-to/blame.md.
 *
 *     mpi_race FILE none|barrier|sync      what stands between the two writes
 *
 * Only `sync` (sync, barrier, sync) is an order for MPI-IO; for POSIX the barrier is one. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi_check.h"

#define N 1000
#define SHARED 100

static void stand_between(MPI_File f, const char *order) {
    if (!strcmp(order, "sync")) CHECK(MPI_File_sync(f));
    if (strcmp(order, "none") != 0) CHECK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(order, "sync")) CHECK(MPI_File_sync(f));
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
    for (int writer = 0; writer < 2; writer++) {
        MPI_Offset at = (MPI_Offset)writer * (N - SHARED);
        if (rank == writer) CHECK(MPI_File_write_at(f, at, data, N, MPI_BYTE, MPI_STATUS_IGNORE));
        if (writer == 0) stand_between(f, argv[2]);
    }
    CHECK(MPI_File_close(&f));
    MPI_Finalize();
    return 0;
}
