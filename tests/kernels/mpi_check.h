/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the job at the first MPI call that fails, which names itself. Of the small programs beside it. */
#ifndef MPI_CHECK_H
#define MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        int code_ = (call);                                                                                  \
        if (code_) {                                                                                         \
            fprintf(stderr, "%s: %d\n", #call, code_);                                                       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                    \
        }                                                                                                    \
    } while (0)

#endif
