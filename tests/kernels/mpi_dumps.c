/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps as simulations write them, for test_kernel_replay.py and docs/your-application.md.
 *
 *     mpi_dumps FOLDER heat|ahead|split|later|particles SIZE STEPS [posix]
 *
 * heat: a block of a plane for each process, MPI_File_write_all through a subarray view. ahead: the same at
 * an offset that MPI_File_seek sets. split: the same with split calls. later: with nonblocking ones.
 * particles: a part of seven lists, MPI_File_write_at_all. posix: the same bytes with pwrite. Prints the
 * seconds. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_check.h"

#define LISTS 7
#define PATH 4096

typedef struct {
    const char *kind;
    int rank, processes, size;
    int part[2], start[2]; /* of the plane */
    long long mine, before, all;
    double *data;
} dump;

static int one_open(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0666);
    if (fd < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    return fd;
}

static void put(int fd, const double *data, long long n, long long at) {
    size_t bytes = (size_t)n * sizeof *data;
    if (pwrite(fd, data, bytes, (off_t)(at * (long long)sizeof *data)) != (ssize_t)bytes)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void heat_posix(const dump *d, const char *name) {
    int fd = one_open(name);
    for (int i = 0; i < d->part[0]; i++)
        put(fd, d->data + (long long)i * d->part[1], d->part[1],
            (long long)(d->start[0] + i) * d->size + d->start[1]);
    close(fd);
}

static void heat(const dump *d, const char *name) {
    int size[2] = {d->size, d->size}, n = d->part[0] * d->part[1], half = n / 2;
    MPI_File f;
    MPI_Datatype type;
    CHECK(MPI_Type_create_subarray(2, size, d->part, d->start, MPI_ORDER_C, MPI_DOUBLE, &type));
    CHECK(MPI_Type_commit(&type));
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f));
    CHECK(MPI_File_set_view(f, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
    if (!strcmp(d->kind, "ahead")) {
        CHECK(MPI_File_seek(f, half, MPI_SEEK_SET));
        CHECK(MPI_File_write_all(f, d->data + half, n - half, MPI_DOUBLE, MPI_STATUS_IGNORE));
        CHECK(MPI_File_seek(f, 0, MPI_SEEK_SET));
        CHECK(MPI_File_write_all(f, d->data, half, MPI_DOUBLE, MPI_STATUS_IGNORE));
    } else if (!strcmp(d->kind, "split")) {
        CHECK(MPI_File_write_all_begin(f, d->data, n, MPI_DOUBLE));
        CHECK(MPI_File_write_all_end(f, d->data, MPI_STATUS_IGNORE));
    } else if (!strcmp(d->kind, "later")) {
        MPI_Request request;
        CHECK(MPI_File_iwrite_all(f, d->data, n, MPI_DOUBLE, &request));
        CHECK(d->rank ? MPI_Wait(&request, MPI_STATUS_IGNORE)
                      : MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
    } else {
        CHECK(MPI_File_write_all(f, d->data, n, MPI_DOUBLE, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_File_close(&f));
    CHECK(MPI_Type_free(&type));
}

static void particles_posix(const dump *d, const char *name) {
    int fd = one_open(name);
    for (int k = 0; k < LISTS; k++) put(fd, d->data, d->mine, k * d->all + d->before);
    close(fd);
}

static void particles(const dump *d, const char *name) {
    MPI_File f;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f));
    for (int k = 0; k < LISTS; k++) {
        MPI_Offset at = (MPI_Offset)((k * d->all + d->before) * (long long)sizeof *d->data);
        CHECK(MPI_File_write_at_all(f, at, d->data, (int)d->mine, MPI_DOUBLE, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_File_close(&f));
}

static void share_out(dump *d) {
    int grid[2] = {0, 0};
    MPI_Dims_create(d->processes, 2, grid);
    for (int i = 0; i < 2; i++) d->part[i] = d->size / grid[i];
    d->start[0] = d->rank / grid[1] * d->part[0];
    d->start[1] = d->rank % grid[1] * d->part[1];
    d->mine = d->size + 10 * d->rank;
    MPI_Exscan(&d->mine, &d->before, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (!d->rank) d->before = 0;
    MPI_Allreduce(&d->mine, &d->all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    size_t n = (size_t)d->part[0] * (size_t)d->part[1] + (size_t)d->mine;
    d->data = calloc(n, sizeof *d->data);
    if (!d->data) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    dump d = {0};
    double spent = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &d.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &d.processes);
    if (argc < 5) {
        fprintf(stderr, "expected FOLDER heat|ahead|split|later|particles SIZE STEPS [posix]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    d.kind = argv[2];
    d.size = atoi(argv[3]);
    int posix = argc > 5, lists = !strcmp(d.kind, "particles");
    share_out(&d);
    for (int step = 0; step < atoi(argv[4]); step++) {
        char name[PATH];
        snprintf(name, sizeof name, "%s/%s.%d", argv[1], d.kind, step);
        double began = MPI_Wtime(); /* processes do not leave the barrier at the same time */
        MPI_Barrier(MPI_COMM_WORLD);
        if (lists)
            (posix ? particles_posix : particles)(&d, name);
        else
            (posix ? heat_posix : heat)(&d, name);
        double seconds = MPI_Wtime() - began;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        spent += seconds; /* of the slowest process */
    }
    if (!d.rank) printf("%.6f\n", spent);
    free(d.data);
    MPI_Finalize();
    return 0;
}
