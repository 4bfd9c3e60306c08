/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of several processes that order them without being a barrier of all (mpi_order.c has those). Rooted
 * ones are recorded like messages; of the others it is only recorded that they may order. */
#include "events.h"
#include "mpi_messages.h"

enum { BOTH = MESSAGE_BOTH };

/* Of calls without data it is not known who waits. */
enum { BCAST = -16, REDUCE, GATHER, SCATTER };
static bool is_root(MPI_Comm comm, int root) {
    int rank = -1;
    LOOK_UP(get_rank, MPI_Comm_rank, (MPI_Comm, int *));
    return get_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

static void from_root(int call, int n, MPI_Comm comm, int root, int result, double start) {
    if (!n || !message_wanted(result) || !message_key(comm, 0))
        message_ordered(BOTH, result, start);
    else if (is_root(comm, root))
        message_passed(EVENT_SEND, comm, ALL_OTHERS, call, result, start);
    else
        message_passed(EVENT_RECEIVE, comm, root, call, result, start);
}

static void to_root(int call, int n, MPI_Comm comm, int root, int result, double start) {
    if (!n || !message_wanted(result) || !message_key(comm, 0))
        message_ordered(BOTH, result, start);
    else if (is_root(comm, root))
        message_passed(EVENT_RECEIVE, comm, ALL_OTHERS, call, result, start);
    else
        message_passed(EVENT_SEND, comm, root, call, result, start);
}

WRAP_CALL(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm),
          from_root(BCAST, n, comm, root, result, start));
WRAP_CALL(MPI_Reduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
          (a, b, n, t, op, root, comm), to_root(REDUCE, n, comm, root, result, start));
#define TYPES const void *a, int n, MPI_Datatype t, void *b
WRAP_CALL(MPI_Gather, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm), (a, n, t, b, m, u, root, comm),
          to_root(GATHER, is_root(comm, root) ? m : n, comm, root, result, start));
WRAP_CALL(MPI_Scatter, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm),
          (a, n, t, b, m, u, root, comm),
          from_root(SCATTER, is_root(comm, root) ? n : m, comm, root, result, start));

/* Whichever process waits for which; the nonblocking ones end in a completion (mpi_messages.c). */
#define COLLECTIVE(NAME, PARAMETERS, ARGUMENTS) WRAP_MESSAGE(NAME, BOTH, PARAMETERS, ARGUMENTS);
#define LIST(...) __VA_ARGS__
#define NONBLOCKING(NAME, PARAMETERS, ARGUMENTS)                                                             \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Comm comm, MPI_Request * r), (LIST ARGUMENTS, comm, r))
#define TWO(NAME, OTHER, PARAMETERS, ARGUMENTS)                                                              \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Comm comm), (LIST ARGUMENTS, comm))                               \
    NONBLOCKING(OTHER, PARAMETERS, ARGUMENTS)
COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *r), (comm, r))
NONBLOCKING(MPI_Ibcast, (void *b, int n, MPI_Datatype t, int root), (b, n, t, root))
NONBLOCKING(MPI_Igather, (TYPES, int m, MPI_Datatype u, int root), (a, n, t, b, m, u, root))
NONBLOCKING(MPI_Iscatter, (TYPES, int m, MPI_Datatype u, int root), (a, n, t, b, m, u, root))
NONBLOCKING(MPI_Iallgather, (TYPES, int m, MPI_Datatype u), (a, n, t, b, m, u))
NONBLOCKING(MPI_Ialltoall, (TYPES, int m, MPI_Datatype u), (a, n, t, b, m, u))
#define PLACED TYPES, const int m[], const int at[], MPI_Datatype u
NONBLOCKING(MPI_Iallgatherv, (PLACED), (a, n, t, b, m, at, u))
TWO(MPI_Gatherv, MPI_Igatherv, (PLACED, int root), (a, n, t, b, m, at, u, root))
TWO(MPI_Scatterv, MPI_Iscatterv,
    (const void *a, const int n[], const int at[], MPI_Datatype t, void *b, int m, MPI_Datatype u, int root),
    (a, n, at, t, b, m, u, root))
#define VECTORS                                                                                              \
    const void *a, const int n[], const int at[], MPI_Datatype t, void *b, const int m[], const int to[],    \
        MPI_Datatype u
TWO(MPI_Alltoallv, MPI_Ialltoallv, (VECTORS), (a, n, at, t, b, m, to, u))
#define TYPED(AT)                                                                                            \
    const void *a, const int n[], const AT at[], const MPI_Datatype t[], void *b, const int m[],             \
        const AT to[], const MPI_Datatype u[]
TWO(MPI_Alltoallw, MPI_Ialltoallw, (TYPED(int)), (a, n, at, t, b, m, to, u))
#define REDUCED const void *a, void *b, int n, MPI_Datatype t, MPI_Op op
NONBLOCKING(MPI_Ireduce, (REDUCED, int root), (a, b, n, t, op, root))
NONBLOCKING(MPI_Iallreduce, (REDUCED), (a, b, n, t, op))
NONBLOCKING(MPI_Ireduce_scatter_block, (REDUCED), (a, b, n, t, op))
TWO(MPI_Scan, MPI_Iscan, (REDUCED), (a, b, n, t, op))
TWO(MPI_Exscan, MPI_Iexscan, (REDUCED), (a, b, n, t, op))
TWO(MPI_Reduce_scatter, MPI_Ireduce_scatter,
    (const void *a, void *b, const int n[], MPI_Datatype t, MPI_Op op), (a, b, n, t, op))
TWO(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, (TYPES, int m, MPI_Datatype u), (a, n, t, b, m, u))
TWO(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, (PLACED), (a, n, t, b, m, at, u))
TWO(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, (TYPES, int m, MPI_Datatype u), (a, n, t, b, m, u))
TWO(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, (VECTORS), (a, n, at, t, b, m, to, u))
TWO(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, (TYPED(MPI_Aint)), (a, n, at, t, b, m, to, u))

/* Communicators that all processes of another one make together, and others. */
#define MADE(NAME, PARAMETERS, ARGUMENTS)                                                                    \
    WRAP_CALL(NAME, (MPI_Comm comm, LIST PARAMETERS, MPI_Comm * new), (comm, LIST ARGUMENTS, new),           \
              message_ordered(BOTH, result, start);                                                          \
              message_communicator(comm, *new, result));
WRAP_CALL(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *new), (comm, new), message_ordered(BOTH, result, start);
          message_communicator(comm, *new, result));
MADE(MPI_Comm_dup_with_info, (MPI_Info info), (info))
MADE(MPI_Comm_split, (int color, int key), (color, key))
MADE(MPI_Comm_split_type, (int type, int key, MPI_Info info), (type, key, info))
MADE(MPI_Comm_create, (MPI_Group group), (group))
MADE(MPI_Cart_create, (int n, const int lengths[], const int around[], int any), (n, lengths, around, any))
MADE(MPI_Cart_sub, (const int kept[]), (kept))
MADE(MPI_Graph_create, (int n, const int at[], const int to[], int any), (n, at, to, any))
MADE(MPI_Dist_graph_create_adjacent,
     (int n, const int from[], const int weight[], int m, const int to[], const int other[], MPI_Info info,
      int any),
     (n, from, weight, m, to, other, info, any))
COLLECTIVE(MPI_Dist_graph_create,
           (MPI_Comm comm, int n, const int from[], const int m[], const int to[], const int weight[],
            MPI_Info info, int any, MPI_Comm *new),
           (comm, n, from, m, to, weight, info, any, new))
COLLECTIVE(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new),
           (comm, group, tag, new))
COLLECTIVE(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *new, MPI_Request *r), (comm, new, r))
COLLECTIVE(MPI_Intercomm_create, (MPI_Comm comm, int first, MPI_Comm both, int other, int tag, MPI_Comm *new),
           (comm, first, both, other, tag, new))
COLLECTIVE(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *new), (comm, high, new))

#define FREED(NAME)                                                                                          \
    EXPORT int P##NAME(MPI_Comm *comm) {                                                                     \
        NEXT_MPI(NAME, (MPI_Comm *));                                                                        \
        message_communicator_freed(*comm);                                                                   \
        return next(comm);                                                                                   \
    }                                                                                                        \
    BOTH_NAMES(NAME, (MPI_Comm * comm));
FREED(MPI_Comm_free)
FREED(MPI_Comm_disconnect)

/* One-sided. */
COLLECTIVE(MPI_Win_create, (void *b, MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
           (b, n, unit, info, comm, win))
COLLECTIVE(MPI_Win_allocate, (MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win),
           (n, unit, info, comm, b, win))
COLLECTIVE(MPI_Win_allocate_shared,
           (MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win),
           (n, unit, info, comm, b, win))
COLLECTIVE(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
COLLECTIVE(MPI_Win_free, (MPI_Win * win), (win))
COLLECTIVE(MPI_Win_fence, (int assert, MPI_Win win), (assert, win))
COLLECTIVE(MPI_Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
COLLECTIVE(MPI_Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
COLLECTIVE(MPI_Win_complete, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_wait, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_test, (MPI_Win win, int *flag), (win, flag))
COLLECTIVE(MPI_Win_lock, (int kind, int rank, int assert, MPI_Win win), (kind, rank, assert, win))
COLLECTIVE(MPI_Win_unlock, (int rank, MPI_Win win), (rank, win))
COLLECTIVE(MPI_Win_lock_all, (int assert, MPI_Win win), (assert, win))
COLLECTIVE(MPI_Win_unlock_all, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_flush, (int rank, MPI_Win win), (rank, win))
COLLECTIVE(MPI_Win_flush_all, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_flush_local, (int rank, MPI_Win win), (rank, win))
COLLECTIVE(MPI_Win_flush_local_all, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_sync, (MPI_Win win), (win))
/* What they change may be seen before the call that completes them. */
#define TARGET int rank, MPI_Aint at, int m, MPI_Datatype u
#define TWO_OF_WINDOW(NAME, OTHER, PARAMETERS, ARGUMENTS)                                                    \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Win win), (LIST ARGUMENTS, win))                                  \
    COLLECTIVE(OTHER, (LIST PARAMETERS, MPI_Win win, MPI_Request * r), (LIST ARGUMENTS, win, r))
TWO_OF_WINDOW(MPI_Put, MPI_Rput, (const void *a, int n, MPI_Datatype t, TARGET), (a, n, t, rank, at, m, u))
TWO_OF_WINDOW(MPI_Get, MPI_Rget, (void *a, int n, MPI_Datatype t, TARGET), (a, n, t, rank, at, m, u))
TWO_OF_WINDOW(MPI_Accumulate, MPI_Raccumulate, (const void *a, int n, MPI_Datatype t, TARGET, MPI_Op op),
              (a, n, t, rank, at, m, u, op))
TWO_OF_WINDOW(MPI_Get_accumulate, MPI_Rget_accumulate,
              (TYPES, int found, MPI_Datatype its, TARGET, MPI_Op op),
              (a, n, t, b, found, its, rank, at, m, u, op))
COLLECTIVE(MPI_Fetch_and_op,
           (const void *a, void *b, MPI_Datatype t, int rank, MPI_Aint at, MPI_Op op, MPI_Win win),
           (a, b, t, rank, at, op, win))
COLLECTIVE(MPI_Compare_and_swap,
           (const void *a, const void *old, void *b, MPI_Datatype t, int rank, MPI_Aint at, MPI_Win win),
           (a, old, b, t, rank, at, win))
