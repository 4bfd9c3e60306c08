/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that no process leaves before all processes of the group have arrived, so that earlier accesses of
 * the others are complete. Blocking calls of a group occur in the same order on all of its processes, so the
 * group and a count identify them. mpi_collectives.c has what orders less. */
#include "events.h"
#include "mpi_messages.h"
#include "state.h"

/* An identifier of the set of processes; 0: all. */
static int64_t name_of(MPI_Comm comm, int *processes) {
    LOOK_UP(compare, MPI_Comm_compare, (MPI_Comm, MPI_Comm, int *));
    LOOK_UP(group_of, MPI_Comm_group, (MPI_Comm, MPI_Group *));
    LOOK_UP(translate, MPI_Group_translate_ranks, (MPI_Group, int, const int *, MPI_Group, int *));
    LOOK_UP(release, MPI_Group_free, (MPI_Group *));
    int like = MPI_UNEQUAL;
    *processes = message_processes(comm);
    if (compare(comm, MPI_COMM_WORLD, &like) == MPI_SUCCESS && like != MPI_UNEQUAL) return 0;
    MPI_Group mine, all;
    uint64_t sum = 0;
    group_of(comm, &mine);
    group_of(MPI_COMM_WORLD, &all);
    for (int i = 0, rank; i < *processes; i++)
        if (translate(mine, 1, &i, all, &rank) == MPI_SUCCESS) sum += message_hash((uint64_t)rank + 1);
    release(&mine);
    release(&all);
    return (int64_t)(sum >> 1 | 1);
}

static bool between_groups(MPI_Comm comm) {
    LOOK_UP(is_inter, MPI_Comm_test_inter, (MPI_Comm, int *));
    int inter = 1;
    return is_inter(comm, &inter) != MPI_SUCCESS || inter;
}

/* Without elements, processes need not wait; between two groups, not for their own. */
static void met(MPI_Comm comm, bool elements, int result, double start) {
    if (result != MPI_SUCCESS || !recorder_on() || !recorder_wants_segments()) return;
    double end = recorder_now();
    if (!elements || between_groups(comm)) {
        message_ordered(MESSAGE_BOTH, result, start);
        return;
    }
    int processes = 0;
    int64_t group = name_of(comm, &processes);
    if (processes < 2) return;
    recorder_lock();
    if (recorder_goes_on()) event_add(NULL, EVENT_MEET, group, processes, start, end);
    recorder_unlock();
}

#define WRAP_MEETING(NAME, ELEMENTS, PARAMETERS, ARGUMENTS)                                                  \
    WRAP_CALL(NAME, PARAMETERS, ARGUMENTS, met(comm, ELEMENTS, result, start));
/* With counts of type COUNT, places of type PLACE, and names ending in TAIL. */
#define MEETINGS(COUNT, PLACE, TAIL)                                                                         \
    static bool all_give##TAIL(const COUNT elements[], MPI_Comm comm) {                                      \
        if (between_groups(comm)) return false;                                                              \
        for (int i = message_processes(comm); i-- > 0;)                                                      \
            if (!elements[i]) return false;                                                                  \
        return true;                                                                                         \
    }                                                                                                        \
    WRAP_MEETING(MPI_Allreduce##TAIL, n,                                                                     \
                 (const void *in, void *out, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),          \
                 (in, out, n, type, op, comm))                                                               \
    WRAP_MEETING(                                                                                            \
        MPI_Allgather##TAIL, m,                                                                              \
        (const void *in, COUNT n, MPI_Datatype type, void *out, COUNT m, MPI_Datatype to, MPI_Comm comm),    \
        (in, n, type, out, m, to, comm))                                                                     \
    WRAP_MEETING(MPI_Allgatherv##TAIL, all_give##TAIL(m, comm),                                              \
                 (const void *in, COUNT n, MPI_Datatype type, void *out, const COUNT m[], const PLACE at[],  \
                  MPI_Datatype to, MPI_Comm comm),                                                           \
                 (in, n, type, out, m, at, to, comm))                                                        \
    WRAP_MEETING(                                                                                            \
        MPI_Alltoall##TAIL, m,                                                                               \
        (const void *in, COUNT n, MPI_Datatype type, void *out, COUNT m, MPI_Datatype to, MPI_Comm comm),    \
        (in, n, type, out, m, to, comm))                                                                     \
    WRAP_MEETING(MPI_Reduce_scatter_block##TAIL, n,                                                          \
                 (const void *in, void *out, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),          \
                 (in, out, n, type, op, comm))

WRAP_MEETING(MPI_Barrier, true, (MPI_Comm comm), (comm))
MEETINGS(int, int, )
#if MPI_VERSION >= 4
MEETINGS(MPI_Count, MPI_Aint, _c)
#endif
