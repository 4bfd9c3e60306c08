/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/turns.h"

#define TURN_TAG 77

int io_take_turn(const io_session *s) {
    uint64_t group = s->what->io_group, rank = (uint64_t)s->world->rank;
    int token;
    if (!group || rank % group == 0) return 0;
    int code = MPI_Recv(&token, 1, MPI_INT, (int)rank - 1, TURN_TAG, s->world->comm, MPI_STATUS_IGNORE);
    return code ? io_fail_mpi(&s->world->error, "MPI_Recv", "the turn of --io-group", code) : 0;
}

int io_pass_turn(const io_session *s) {
    uint64_t group = s->what->io_group, rank = (uint64_t)s->world->rank;
    int token = 1;
    if (!group || (rank + 1) % group == 0 || rank + 1 == (uint64_t)s->world->size) return 0;
    int code = MPI_Send(&token, 1, MPI_INT, (int)rank + 1, TURN_TAG, s->world->comm);
    return code ? io_fail_mpi(&s->world->error, "MPI_Send", "the turn of --io-group", code) : 0;
}
