/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that may order accesses of several processes without being a barrier of all: messages, collective
 * calls with a root, completions, one-sided synchronization. It is not recorded which call matches which: two
 * accesses with an outgoing call after the one and an incoming call before the other may be in order. */
#include "events.h"
#include "mpi_handles.h"
#include "state.h"

enum { OUT = MESSAGE_OUT, IN = MESSAGE_IN, BOTH = MESSAGE_BOTH };

static void ordered(int ways, int result, double start) {
    if (result != MPI_SUCCESS || recorder_depth || !recorder_on() || !recorder_wants_segments()) return;
    double end = recorder_now();
    recorder_lock();
    if (recorder_on()) event_message(ways, start, end);
    recorder_unlock();
}

#define WRAP_MESSAGE(NAME, WAYS, PARAMETERS, ARGUMENTS)                                                      \
    EXPORT int P##NAME PARAMETERS {                                                                          \
        NEXT_MPI(NAME, PARAMETERS);                                                                          \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        ordered(WAYS, result, start);                                                                        \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, PARAMETERS)

#define SEND(NAME)                                                                                           \
    WRAP_MESSAGE(NAME, OUT, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm),          \
                 (b, n, t, to, tag, comm));
#define ISEND(NAME)                                                                                          \
    WRAP_MESSAGE(NAME, OUT,                                                                                  \
                 (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *r),     \
                 (b, n, t, to, tag, comm, r));
SEND(MPI_Send)
SEND(MPI_Ssend)
SEND(MPI_Bsend)
SEND(MPI_Rsend)
ISEND(MPI_Isend)
ISEND(MPI_Issend)
ISEND(MPI_Ibsend)
ISEND(MPI_Irsend)
WRAP_MESSAGE(MPI_Start, OUT, (MPI_Request * r), (r));
WRAP_MESSAGE(MPI_Startall, OUT, (int n, MPI_Request r[]), (n, r));
WRAP_MESSAGE(MPI_Recv, IN, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s),
             (b, n, t, from, tag, comm, s));
WRAP_MESSAGE(MPI_Probe, IN, (int from, int tag, MPI_Comm comm, MPI_Status *s), (from, tag, comm, s));
WRAP_MESSAGE(MPI_Iprobe, IN, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *s),
             (from, tag, comm, flag, s));
WRAP_MESSAGE(MPI_Sendrecv, BOTH,
             (const void *b, int n, MPI_Datatype t, int to, int tag, void *c, int m, MPI_Datatype u, int from,
              int other, MPI_Comm comm, MPI_Status *s),
             (b, n, t, to, tag, c, m, u, from, other, comm, s));
WRAP_MESSAGE(MPI_Wait, IN, (MPI_Request * r, MPI_Status *s), (r, s));
WRAP_MESSAGE(MPI_Waitall, IN, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s));
WRAP_MESSAGE(MPI_Waitany, IN, (int n, MPI_Request r[], int *i, MPI_Status *s), (n, r, i, s));
WRAP_MESSAGE(MPI_Waitsome, IN, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), (n, r, m, i, s));
WRAP_MESSAGE(MPI_Test, IN, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s));
WRAP_MESSAGE(MPI_Testall, IN, (int n, MPI_Request r[], int *flag, MPI_Status s[]), (n, r, flag, s));
WRAP_MESSAGE(MPI_Testany, IN, (int n, MPI_Request r[], int *i, int *flag, MPI_Status *s), (n, r, i, flag, s));
WRAP_MESSAGE(MPI_Testsome, IN, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), (n, r, m, i, s));

/* Collective calls, whichever process waits for which; the nonblocking ones end in one of the above. */
#define COLLECTIVE(NAME, PARAMETERS, ARGUMENTS) WRAP_MESSAGE(NAME, BOTH, PARAMETERS, ARGUMENTS);
COLLECTIVE(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm))
COLLECTIVE(MPI_Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request *r),
           (b, n, t, root, comm, r))
COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *r), (comm, r))
#define TYPES const void *a, int n, MPI_Datatype t, void *b
COLLECTIVE(MPI_Reduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
           (a, b, n, t, op, root, comm))
COLLECTIVE(MPI_Ireduce,
           (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,
            MPI_Request *r),
           (a, b, n, t, op, root, comm, r))
COLLECTIVE(MPI_Iallreduce,
           (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *r),
           (a, b, n, t, op, comm, r))
COLLECTIVE(MPI_Scan, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
           (a, b, n, t, op, comm))
COLLECTIVE(MPI_Exscan, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
           (a, b, n, t, op, comm))
COLLECTIVE(MPI_Gather, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm),
           (a, n, t, b, m, u, root, comm))
COLLECTIVE(MPI_Gatherv, (TYPES, const int m[], const int at[], MPI_Datatype u, int root, MPI_Comm comm),
           (a, n, t, b, m, at, u, root, comm))
COLLECTIVE(MPI_Scatter, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm),
           (a, n, t, b, m, u, root, comm))
COLLECTIVE(MPI_Scatterv,
           (const void *a, const int n[], const int at[], MPI_Datatype t, void *b, int m, MPI_Datatype u,
            int root, MPI_Comm comm),
           (a, n, at, t, b, m, u, root, comm))
COLLECTIVE(MPI_Allgatherv, (TYPES, const int m[], const int at[], MPI_Datatype u, MPI_Comm comm),
           (a, n, t, b, m, at, u, comm))
COLLECTIVE(MPI_Alltoallv,
           (const void *a, const int n[], const int at[], MPI_Datatype t, void *b, const int m[],
            const int to[], MPI_Datatype u, MPI_Comm comm),
           (a, n, at, t, b, m, to, u, comm))
COLLECTIVE(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *new), (comm, new))
COLLECTIVE(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *new), (comm, color, key, new))

/* One-sided. */
COLLECTIVE(MPI_Win_fence, (int assert, MPI_Win win), (assert, win))
COLLECTIVE(MPI_Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
COLLECTIVE(MPI_Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
COLLECTIVE(MPI_Win_complete, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_wait, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_lock, (int kind, int rank, int assert, MPI_Win win), (kind, rank, assert, win))
COLLECTIVE(MPI_Win_unlock, (int rank, MPI_Win win), (rank, win))
COLLECTIVE(MPI_Win_lock_all, (int assert, MPI_Win win), (assert, win))
COLLECTIVE(MPI_Win_unlock_all, (MPI_Win win), (win))
COLLECTIVE(MPI_Win_flush, (int rank, MPI_Win win), (rank, win))
COLLECTIVE(MPI_Win_flush_all, (MPI_Win win), (win))
