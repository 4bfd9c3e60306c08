/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that order accesses of several processes without being a barrier of all. Messages of communicators
 * whose identity all of its processes know are recorded with their partner, communicator and tag, and rooted
 * collective calls like messages; analysis/blame/order.py matches them. Of other calls it is only recorded
 * that they may order: completions, one-sided synchronization. */
#include "mpi_messages.h"

#include <limits.h>
#include <stdlib.h>

#include "events.h"
#include "state.h"

enum { OUT = MESSAGE_OUT, IN = MESSAGE_IN, BOTH = MESSAGE_BOTH };
enum { ALL_OTHERS = INT_MIN };

static bool wanted(int result) {
    return result == MPI_SUCCESS && !recorder_depth && recorder_on() && recorder_wants_segments();
}

static void ordered(int ways, int result, double start) {
    if (!wanted(result)) return;
    double end = recorder_now();
    recorder_lock();
    if (recorder_on()) event_message(ways, start, end);
    recorder_unlock();
}

/* `tag`: of a message, or below 0: of a collective call. */
static void passed(int kind, MPI_Comm comm, int other, int tag, int result, double start) {
    if (tag >= 0 && !recorder_depth && recorder_on()) {
        recorder_lock_for_access();
        recorder_storage_message();
        recorder_unlock();
    }
    if (!wanted(result) || other == MPI_PROC_NULL) return;
    int64_t key = message_key(comm, tag), process = other == ALL_OTHERS ? -1 : message_process(comm, other);
    if (!key || process < -1) {
        ordered(kind == EVENT_SEND ? OUT : IN, result, start);
        return;
    }
    double end = recorder_now();
    recorder_lock();
    if (recorder_on()) event_add(NULL, kind, process, key, start, end);
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

#define WRAP(NAME, PARAMETERS, ARGUMENTS, AFTER)                                                             \
    EXPORT int P##NAME PARAMETERS {                                                                          \
        NEXT_MPI(NAME, PARAMETERS);                                                                          \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        AFTER;                                                                                               \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, PARAMETERS)

#define SENT passed(EVENT_SEND, comm, to, tag, result, start)
#define SEND(NAME, AFTER)                                                                                    \
    WRAP(NAME, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm),                       \
         (b, n, t, to, tag, comm), AFTER)
#define ISEND(NAME, AFTER)                                                                                   \
    WRAP(NAME, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *r),       \
         (b, n, t, to, tag, comm, r), AFTER;                                                                 \
         message_forget(1, r))
SEND(MPI_Send, SENT);
/* Its end also says that the receiver was there. */
SEND(MPI_Ssend, SENT; ordered(BOTH, result, start));
SEND(MPI_Bsend, SENT);
SEND(MPI_Rsend, SENT);
ISEND(MPI_Isend, SENT);
ISEND(MPI_Issend, SENT; ordered(BOTH, result, start));
ISEND(MPI_Ibsend, SENT);
ISEND(MPI_Irsend, SENT);
WRAP(MPI_Start, (MPI_Request * r), (r), ordered(OUT, result, start); message_forget(1, r));
WRAP(MPI_Startall, (int n, MPI_Request r[]), (n, r), ordered(OUT, result, start); message_forget(n, r));
/* A receive says its partner and tag in a status, which the program may not want. */
EXPORT int PMPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s) {
    NEXT_MPI(MPI_Recv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *));
    MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;
    double start = recorder_now();
    int result = next(b, n, t, from, tag, comm, status);
    if (from != MPI_PROC_NULL)
        passed(EVENT_RECEIVE, comm, status->MPI_SOURCE, status->MPI_TAG, result, start);
    return result;
}
BOTH_NAMES(MPI_Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s));

EXPORT int PMPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *c, int m,
                         MPI_Datatype u, int from, int other, MPI_Comm comm, MPI_Status *s) {
    NEXT_MPI(MPI_Sendrecv, (const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
                            MPI_Comm, MPI_Status *));
    MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;
    double start = recorder_now();
    int result = next(b, n, t, to, tag, c, m, u, from, other, comm, status);
    SENT;
    if (from != MPI_PROC_NULL)
        passed(EVENT_RECEIVE, comm, status->MPI_SOURCE, status->MPI_TAG, result, start);
    return result;
}
BOTH_NAMES(MPI_Sendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *c, int m,
                          MPI_Datatype u, int from, int other, MPI_Comm comm, MPI_Status *s));

EXPORT int PMPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request *r) {
    NEXT_MPI(MPI_Irecv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *));
    int result = next(b, n, t, from, tag, comm, r);
    message_expect(*r, comm, result);
    return result;
}
BOTH_NAMES(MPI_Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request *r));

static void received(MPI_Request before, const MPI_Status *status, int result, double start) {
    MPI_Comm comm;
    if (message_take(before, &comm) && status->MPI_SOURCE != MPI_PROC_NULL)
        passed(EVENT_RECEIVE, comm, status->MPI_SOURCE, status->MPI_TAG, result, start);
    else
        ordered(IN, result, start);
}

EXPORT int PMPI_Wait(MPI_Request *r, MPI_Status *s) {
    NEXT_MPI(MPI_Wait, (MPI_Request *, MPI_Status *));
    MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;
    MPI_Request before = *r, *accesses = access_before(1, r);
    double start = recorder_now();
    int result = next(r, status);
    access_after(1, accesses, r, start);
    if (before != MPI_REQUEST_NULL) received(before, status, result, start);
    return result;
}
BOTH_NAMES(MPI_Wait, (MPI_Request * r, MPI_Status *s));

EXPORT int PMPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
    NEXT_MPI(MPI_Waitall, (int, MPI_Request[], MPI_Status[]));
    size_t some = n > 0 ? (size_t)n : 1;
    MPI_Request *before = malloc(some * sizeof *before);
    MPI_Status *own = malloc(some * sizeof *own), *status = s == MPI_STATUSES_IGNORE && own ? own : s;
    MPI_Request *accesses = access_before(n, r);
    double start = recorder_now();
    for (int i = 0; before && i < n; i++) before[i] = r[i];
    int result = next(n, r, status);
    access_after(n, accesses, r, start);
    for (int i = 0; before && status != MPI_STATUSES_IGNORE && i < n; i++)
        if (before[i] != MPI_REQUEST_NULL) received(before[i], &status[i], result, start);
    free(before);
    free(own);
    return result;
}
BOTH_NAMES(MPI_Waitall, (int n, MPI_Request r[], MPI_Status s[]));

/* Which of these is complete is not followed. */
#define COMPLETION(NAME, N, PARAMETERS, ARGUMENTS)                                                           \
    EXPORT int P##NAME PARAMETERS {                                                                          \
        NEXT_MPI(NAME, PARAMETERS);                                                                          \
        double start = recorder_now();                                                                       \
        message_forget(N, r);                                                                                \
        MPI_Request *accesses = access_before(N, r);                                                         \
        int result = next ARGUMENTS;                                                                         \
        access_after(N, accesses, r, start);                                                                 \
        ordered(IN, result, start);                                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, PARAMETERS)
COMPLETION(MPI_Waitany, n, (int n, MPI_Request r[], int *i, MPI_Status *s), (n, r, i, s));
COMPLETION(MPI_Waitsome, n, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), (n, r, m, i, s));
COMPLETION(MPI_Test, 1, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s));
COMPLETION(MPI_Testall, n, (int n, MPI_Request r[], int *flag, MPI_Status s[]), (n, r, flag, s));
COMPLETION(MPI_Testany, n, (int n, MPI_Request r[], int *i, int *flag, MPI_Status *s), (n, r, i, flag, s));
COMPLETION(MPI_Testsome, n, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), (n, r, m, i, s));
WRAP_MESSAGE(MPI_Probe, IN, (int from, int tag, MPI_Comm comm, MPI_Status *s), (from, tag, comm, s));
WRAP_MESSAGE(MPI_Iprobe, IN, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *s),
             (from, tag, comm, flag, s));

/* Of calls without data it is not known who waits. */
enum { BCAST = -16, REDUCE, GATHER, SCATTER };
static bool is_root(MPI_Comm comm, int root) {
    int rank = -1;
    int (*get_rank)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))recorder_next("PMPI_Comm_rank");
    return get_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

static void from_root(int call, int n, MPI_Comm comm, int root, int result, double start) {
    if (!n || !wanted(result) || !message_key(comm, 0))
        ordered(BOTH, result, start);
    else if (is_root(comm, root))
        passed(EVENT_SEND, comm, ALL_OTHERS, call, result, start);
    else
        passed(EVENT_RECEIVE, comm, root, call, result, start);
}

static void to_root(int call, int n, MPI_Comm comm, int root, int result, double start) {
    if (!n || !wanted(result) || !message_key(comm, 0))
        ordered(BOTH, result, start);
    else if (is_root(comm, root))
        passed(EVENT_RECEIVE, comm, ALL_OTHERS, call, result, start);
    else
        passed(EVENT_SEND, comm, root, call, result, start);
}

/* Other collective calls, whichever process waits for which; the nonblocking ones end in one of the above. */
#define COLLECTIVE(NAME, PARAMETERS, ARGUMENTS) WRAP_MESSAGE(NAME, BOTH, PARAMETERS, ARGUMENTS);
WRAP(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm),
     from_root(BCAST, n, comm, root, result, start));
COLLECTIVE(MPI_Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request *r),
           (b, n, t, root, comm, r))
COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *r), (comm, r))
#define TYPES const void *a, int n, MPI_Datatype t, void *b
WRAP(MPI_Reduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
     (a, b, n, t, op, root, comm), to_root(REDUCE, n, comm, root, result, start));
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
WRAP(MPI_Gather, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm), (a, n, t, b, m, u, root, comm),
     to_root(GATHER, is_root(comm, root) ? m : n, comm, root, result, start));
COLLECTIVE(MPI_Gatherv, (TYPES, const int m[], const int at[], MPI_Datatype u, int root, MPI_Comm comm),
           (a, n, t, b, m, at, u, root, comm))
WRAP(MPI_Scatter, (TYPES, int m, MPI_Datatype u, int root, MPI_Comm comm), (a, n, t, b, m, u, root, comm),
     from_root(SCATTER, is_root(comm, root) ? n : m, comm, root, result, start));
COLLECTIVE(MPI_Scatterv,
           (const void *a, const int n[], const int at[], MPI_Datatype t, void *b, int m, MPI_Datatype u,
            int root, MPI_Comm comm),
           (a, n, at, t, b, m, u, root, comm))
COLLECTIVE(MPI_Alltoallv,
           (const void *a, const int n[], const int at[], MPI_Datatype t, void *b, const int m[],
            const int to[], MPI_Datatype u, MPI_Comm comm),
           (a, n, at, t, b, m, to, u, comm))
WRAP(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *new), (comm, new), ordered(BOTH, result, start);
     message_communicator(comm, *new, result));
WRAP(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *new), (comm, color, key, new),
     ordered(BOTH, result, start);
     message_communicator(comm, *new, result));

EXPORT int PMPI_Comm_free(MPI_Comm *comm) {
    NEXT_MPI(MPI_Comm_free, (MPI_Comm *));
    message_communicator_freed(*comm);
    return next(comm);
}
BOTH_NAMES(MPI_Comm_free, (MPI_Comm * comm));

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
