/* SPDX-License-Identifier: BSD-3-Clause */
/* Every form of reading and writing with MPI-IO, once in each direction, 1000 bytes each; and POSIX's
 * asynchronous calls. With an argument it ends without MPI_Finalize. For test_recorder_mpi.py. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_check.h"

#define N 1000

static char data[N];

#define BLOCKING(WORD, COUNT, TAIL)                                                                          \
    CHECK(MPI_File_##WORD##TAIL(f, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE));                            \
    CHECK(MPI_File_##WORD##_all##TAIL(f, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE));                      \
    CHECK(MPI_File_##WORD##_at##TAIL(f, 0, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE));                    \
    CHECK(MPI_File_##WORD##_at_all##TAIL(f, 0, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE));                \
    CHECK(MPI_File_##WORD##_shared##TAIL(f, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE));                   \
    CHECK(MPI_File_##WORD##_ordered##TAIL(f, data, (COUNT)N, MPI_BYTE, MPI_STATUS_IGNORE))

#define NONBLOCKING(WORD, COUNT, TAIL)                                                                       \
    CHECK(MPI_File_i##WORD##TAIL(f, data, (COUNT)N, MPI_BYTE, &r));                                          \
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                                  \
    CHECK(MPI_File_i##WORD##_at##TAIL(f, 0, data, (COUNT)N, MPI_BYTE, &r));                                  \
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                                  \
    CHECK(MPI_File_i##WORD##_all##TAIL(f, data, (COUNT)N, MPI_BYTE, &r));                                    \
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                                  \
    CHECK(MPI_File_i##WORD##_at_all##TAIL(f, 0, data, (COUNT)N, MPI_BYTE, &r));                              \
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                                  \
    CHECK(MPI_File_i##WORD##_shared##TAIL(f, data, (COUNT)N, MPI_BYTE, &r));                                 \
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE))

#define SPLIT(WORD, COUNT, TAIL)                                                                             \
    CHECK(MPI_File_##WORD##_all_begin##TAIL(f, data, (COUNT)N, MPI_BYTE));                                   \
    CHECK(MPI_File_##WORD##_all_end(f, data, MPI_STATUS_IGNORE));                                            \
    CHECK(MPI_File_##WORD##_at_all_begin##TAIL(f, 0, data, (COUNT)N, MPI_BYTE));                             \
    CHECK(MPI_File_##WORD##_at_all_end(f, data, MPI_STATUS_IGNORE));                                         \
    CHECK(MPI_File_##WORD##_ordered_begin##TAIL(f, data, (COUNT)N, MPI_BYTE));                               \
    CHECK(MPI_File_##WORD##_ordered_end(f, data, MPI_STATUS_IGNORE))

#define ALL(COUNT, TAIL)                                                                                     \
    BLOCKING(write, COUNT, TAIL);                                                                            \
    NONBLOCKING(write, COUNT, TAIL);                                                                         \
    SPLIT(write, COUNT, TAIL);                                                                               \
    CHECK(MPI_File_seek(f, 0, MPI_SEEK_SET));                                                                \
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));                                                         \
    BLOCKING(read, COUNT, TAIL);                                                                             \
    NONBLOCKING(read, COUNT, TAIL);                                                                          \
    SPLIT(read, COUNT, TAIL)

static void asynchronous(void) {
    int fd = open("aio", O_RDWR | O_CREAT, 0644);
    struct aiocb what = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = N, .aio_offset = 500};
    const struct aiocb *list[] = {&what};
    CHECK(fd < 0);
    CHECK(aio_write(&what));
    while (aio_error(&what) == EINPROGRESS) aio_suspend(list, 1, NULL);
    CHECK(aio_return(&what) != N);
    CHECK(aio_read(&what));
    while (aio_error(&what) == EINPROGRESS) aio_suspend(list, 1, NULL);
    CHECK(aio_return(&what) != N);
    close(fd);
}

int main(int argc, char **argv) {
    MPI_File f;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    CHECK(MPI_File_open(MPI_COMM_SELF, "forms", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f));
    CHECK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    ALL(int, );
#if MPI_VERSION >= 4
    ALL(MPI_Count, _c);
#endif
    CHECK(MPI_File_sync(f));
    CHECK(MPI_File_close(&f));
    asynchronous();
    if (argc > 1 && !strcmp(argv[1], "exit")) exit(0);
    if (argc > 1 && !strcmp(argv[1], "kill")) abort();
    return MPI_Finalize();
}
