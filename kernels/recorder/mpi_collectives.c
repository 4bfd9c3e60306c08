/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of several processes that order them without being a barrier of all (mpi_order.c has those). Rooted
 * ones are recorded like messages; of the others it is only recorded that they may order. */
#include "events.h"
#include "mpi_messages.h"

enum { BOTH = MESSAGE_BOTH };

/* In calls without data it is not known who waits. */
enum { BCAST = -16, REDUCE, GATHER, SCATTER };
static bool is_root(MPI_Comm comm, int root) {
    int rank = -1;
    LOOK_UP(get_rank, MPI_Comm_rank, (MPI_Comm, int *));
    return get_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

static void from_root(int call, bool data, MPI_Comm comm, int root, int result, double start) {
    if (!data || !message_wanted(result) || !message_key(comm, 0))
        message_ordered(BOTH, result, start);
    else if (is_root(comm, root))
        message_passed(EVENT_SEND, comm, ALL_OTHERS, call, result, start);
    else
        message_passed(EVENT_RECEIVE, comm, root, call, result, start);
}

static void to_root(int call, bool data, MPI_Comm comm, int root, int result, double start) {
    if (!data || !message_wanted(result) || !message_key(comm, 0))
        message_ordered(BOTH, result, start);
    else if (is_root(comm, root))
        message_passed(EVENT_RECEIVE, comm, ALL_OTHERS, call, result, start);
    else
        message_passed(EVENT_SEND, comm, root, call, result, start);
}

#define LIST(...) __VA_ARGS__
#define TYPES(COUNT) const void *a, COUNT n, MPI_Datatype t, void *b
#define PLACED(COUNT, PLACE) TYPES(COUNT), const COUNT m[], const PLACE at[], MPI_Datatype u
#define VECTORS(COUNT, PLACE)                                                                                \
    const void *a, const COUNT n[], const PLACE at[], MPI_Datatype t, void *b, const COUNT m[],              \
        const PLACE to[], MPI_Datatype u
#define TYPED(COUNT, PLACE)                                                                                  \
    const void *a, const COUNT n[], const PLACE at[], const MPI_Datatype t[], void *b, const COUNT m[],      \
        const PLACE to[], const MPI_Datatype u[]
#define REDUCED(COUNT) const void *a, void *b, COUNT n, MPI_Datatype t, MPI_Op op
/* Whichever process waits for which; the nonblocking ones end in a completion (mpi_messages.c). */
#define COLLECTIVE(NAME, PARAMETERS, ARGUMENTS) WRAP_MESSAGE(NAME, BOTH, PARAMETERS, ARGUMENTS);
#define NONBLOCKING(NAME, PARAMETERS, ARGUMENTS)                                                             \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Comm comm, MPI_Request * r), (LIST ARGUMENTS, comm, r))
#define TWO(NAME, OTHER, PARAMETERS, ARGUMENTS)                                                              \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Comm comm), (LIST ARGUMENTS, comm))                               \
    NONBLOCKING(OTHER, PARAMETERS, ARGUMENTS)
/* With counts of type COUNT, places of type PLACE, and names ending in TAIL. */
#define ROOTED(COUNT, PLACE, TAIL)                                                                           \
    WRAP_CALL(MPI_Bcast##TAIL, (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm comm),                  \
              (b, n, t, root, comm), from_root(BCAST, n, comm, root, result, start));                        \
    WRAP_CALL(MPI_Reduce##TAIL, (REDUCED(COUNT), int root, MPI_Comm comm), (a, b, n, t, op, root, comm),     \
              to_root(REDUCE, n, comm, root, result, start));                                                \
    WRAP_CALL(MPI_Gather##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u, int root, MPI_Comm comm),            \
              (a, n, t, b, m, u, root, comm),                                                                \
              to_root(GATHER, is_root(comm, root) ? m : n, comm, root, result, start));                      \
    WRAP_CALL(MPI_Scatter##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u, int root, MPI_Comm comm),           \
              (a, n, t, b, m, u, root, comm),                                                                \
              from_root(SCATTER, is_root(comm, root) ? n : m, comm, root, result, start));                   \
    NONBLOCKING(MPI_Ibcast##TAIL, (void *b, COUNT n, MPI_Datatype t, int root), (b, n, t, root))             \
    NONBLOCKING(MPI_Igather##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u, int root),                        \
                (a, n, t, b, m, u, root))                                                                    \
    NONBLOCKING(MPI_Iscatter##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u, int root),                       \
                (a, n, t, b, m, u, root))                                                                    \
    NONBLOCKING(MPI_Ireduce##TAIL, (REDUCED(COUNT), int root), (a, b, n, t, op, root))                       \
    TWO(MPI_Gatherv##TAIL, MPI_Igatherv##TAIL, (PLACED(COUNT, PLACE), int root),                             \
        (a, n, t, b, m, at, u, root))                                                                        \
    TWO(MPI_Scatterv##TAIL, MPI_Iscatterv##TAIL,                                                             \
        (const void *a, const COUNT n[], const PLACE at[], MPI_Datatype t, void *b, COUNT m, MPI_Datatype u, \
         int root),                                                                                          \
        (a, n, at, t, b, m, u, root))
#define OF_ALL(COUNT, PLACE, TAIL)                                                                           \
    NONBLOCKING(MPI_Iallgather##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u), (a, n, t, b, m, u))           \
    NONBLOCKING(MPI_Ialltoall##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u), (a, n, t, b, m, u))            \
    NONBLOCKING(MPI_Iallgatherv##TAIL, (PLACED(COUNT, PLACE)), (a, n, t, b, m, at, u))                       \
    NONBLOCKING(MPI_Iallreduce##TAIL, (REDUCED(COUNT)), (a, b, n, t, op))                                    \
    NONBLOCKING(MPI_Ireduce_scatter_block##TAIL, (REDUCED(COUNT)), (a, b, n, t, op))                         \
    TWO(MPI_Alltoallv##TAIL, MPI_Ialltoallv##TAIL, (VECTORS(COUNT, PLACE)), (a, n, at, t, b, m, to, u))      \
    TWO(MPI_Alltoallw##TAIL, MPI_Ialltoallw##TAIL, (TYPED(COUNT, PLACE)), (a, n, at, t, b, m, to, u))        \
    TWO(MPI_Scan##TAIL, MPI_Iscan##TAIL, (REDUCED(COUNT)), (a, b, n, t, op))                                 \
    TWO(MPI_Exscan##TAIL, MPI_Iexscan##TAIL, (REDUCED(COUNT)), (a, b, n, t, op))                             \
    TWO(MPI_Reduce_scatter##TAIL, MPI_Ireduce_scatter##TAIL,                                                 \
        (const void *a, void *b, const COUNT n[], MPI_Datatype t, MPI_Op op), (a, b, n, t, op))              \
    TWO(MPI_Neighbor_allgather##TAIL, MPI_Ineighbor_allgather##TAIL,                                         \
        (TYPES(COUNT), COUNT m, MPI_Datatype u), (a, n, t, b, m, u))                                         \
    TWO(MPI_Neighbor_allgatherv##TAIL, MPI_Ineighbor_allgatherv##TAIL, (PLACED(COUNT, PLACE)),               \
        (a, n, t, b, m, at, u))                                                                              \
    TWO(MPI_Neighbor_alltoall##TAIL, MPI_Ineighbor_alltoall##TAIL, (TYPES(COUNT), COUNT m, MPI_Datatype u),  \
        (a, n, t, b, m, u))                                                                                  \
    TWO(MPI_Neighbor_alltoallv##TAIL, MPI_Ineighbor_alltoallv##TAIL, (VECTORS(COUNT, PLACE)),                \
        (a, n, at, t, b, m, to, u))                                                                          \
    TWO(MPI_Neighbor_alltoallw##TAIL, MPI_Ineighbor_alltoallw##TAIL, (TYPED(COUNT, MPI_Aint)),               \
        (a, n, at, t, b, m, to, u))
/* One-sided. What they change may be seen before the call that completes them. */
#define TARGET(COUNT) int rank, MPI_Aint at, COUNT m, MPI_Datatype u
#define OF_WINDOW(NAME, OTHER, PARAMETERS, ARGUMENTS)                                                        \
    COLLECTIVE(NAME, (LIST PARAMETERS, MPI_Win win), (LIST ARGUMENTS, win))                                  \
    COLLECTIVE(OTHER, (LIST PARAMETERS, MPI_Win win, MPI_Request * r), (LIST ARGUMENTS, win, r))
#define ONE_SIDED(COUNT, UNIT, TAIL)                                                                         \
    OF_WINDOW(MPI_Put##TAIL, MPI_Rput##TAIL, (const void *a, COUNT n, MPI_Datatype t, TARGET(COUNT)),        \
              (a, n, t, rank, at, m, u))                                                                     \
    OF_WINDOW(MPI_Get##TAIL, MPI_Rget##TAIL, (void *a, COUNT n, MPI_Datatype t, TARGET(COUNT)),              \
              (a, n, t, rank, at, m, u))                                                                     \
    OF_WINDOW(MPI_Accumulate##TAIL, MPI_Raccumulate##TAIL,                                                   \
              (const void *a, COUNT n, MPI_Datatype t, TARGET(COUNT), MPI_Op op),                            \
              (a, n, t, rank, at, m, u, op))                                                                 \
    OF_WINDOW(MPI_Get_accumulate##TAIL, MPI_Rget_accumulate##TAIL,                                           \
              (TYPES(COUNT), COUNT found, MPI_Datatype its, TARGET(COUNT), MPI_Op op),                       \
              (a, n, t, b, found, its, rank, at, m, u, op))                                                  \
    COLLECTIVE(MPI_Win_create##TAIL,                                                                         \
               (void *b, MPI_Aint n, UNIT unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),                 \
               (b, n, unit, info, comm, win))                                                                \
    COLLECTIVE(MPI_Win_allocate##TAIL,                                                                       \
               (MPI_Aint n, UNIT unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win),                 \
               (n, unit, info, comm, b, win))                                                                \
    COLLECTIVE(MPI_Win_allocate_shared##TAIL,                                                                \
               (MPI_Aint n, UNIT unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win),                 \
               (n, unit, info, comm, b, win))

COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *r), (comm, r))
ROOTED(int, int, )
OF_ALL(int, int, )
ONE_SIDED(int, int, )
#if MPI_VERSION >= 4
COLLECTIVE(MPI_Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *new, MPI_Request *r),
           (comm, info, new, r))
COLLECTIVE(MPI_Comm_create_from_group,
           (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *new),
           (group, tag, info, handler, new))
ROOTED(MPI_Count, MPI_Aint, _c)
OF_ALL(MPI_Count, MPI_Aint, _c)
ONE_SIDED(MPI_Count, MPI_Aint, _c)
#endif

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

/* What synchronises windows, and calls without counts. */
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
COLLECTIVE(MPI_Fetch_and_op,
           (const void *a, void *b, MPI_Datatype t, int rank, MPI_Aint at, MPI_Op op, MPI_Win win),
           (a, b, t, rank, at, op, win))
COLLECTIVE(MPI_Compare_and_swap,
           (const void *a, const void *old, void *b, MPI_Datatype t, int rank, MPI_Aint at, MPI_Win win),
           (a, old, b, t, rank, at, win))
