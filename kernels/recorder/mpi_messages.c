/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, and what completes them. If all processes of the communicator know its identity, they
 * are recorded with partner, communicator and tag; analysis/blame/order.py matches them. Of others it is only
 * recorded that they may order. */
#include "mpi_messages.h"

#include <stdlib.h>

#include "events.h"
#include "state.h"

enum { OUT = MESSAGE_OUT, IN = MESSAGE_IN, BOTH = MESSAGE_BOTH };

void message_ordered(int ways, int result, double start) {
    if (!message_wanted(result)) return;
    double end = recorder_now();
    recorder_lock();
    if (recorder_goes_on()) event_message(ways, NULL, start, end);
    recorder_unlock();
}

void message_passed(int kind, MPI_Comm comm, int other, int tag, int result, double start) {
    if (tag >= 0 && !recorder_depth && recorder_on()) {
        recorder_lock_for_access();
        recorder_storage_message();
        recorder_unlock();
    }
    if (!message_wanted(result) || other == MPI_PROC_NULL) return;
    int64_t key =
        message_key(comm, tag); /* none between two groups, where `other` may be no rank in this group */
    int process = !key ? -2 : other == ALL_OTHERS ? -1 : message_process(comm, other);
    if (process < -1) {
        message_ordered(kind == EVENT_SEND ? OUT : IN, result, start);
        return;
    }
    double end = recorder_now();
    recorder_lock();
    if (recorder_goes_on()) event_add(NULL, kind, process, key, start, end);
    recorder_unlock();
}

/* A receive says its partner and tag in a status, which the program may not want. `FROM`: MPI_PROC_NULL for
 * none. */
#define RECEIVED(FROM)                                                                                       \
    if ((FROM) != MPI_PROC_NULL)                                                                             \
    message_passed(EVENT_RECEIVE, comm, status->MPI_SOURCE, status->MPI_TAG, result, start)
#define WRAP_RECEIVE(NAME, PARAMETERS, ARGUMENTS, AFTER)                                                     \
    WRAP_AROUND(NAME, PARAMETERS, ARGUMENTS, MPI_Status own;                                                 \
                MPI_Status *status = s == MPI_STATUS_IGNORE ? &own : s, AFTER)
#define SENT message_passed(EVENT_SEND, comm, to, tag, result, start)
#define SEND(NAME, COUNT, AFTER)                                                                             \
    WRAP_CALL(NAME, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm comm),                \
              (b, n, t, to, tag, comm), AFTER);
#define ISEND(NAME, COUNT)                                                                                   \
    WRAP_CALL(NAME,                                                                                          \
              (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *r),      \
              (b, n, t, to, tag, comm, r), SENT;                                                             \
              message_forget(1, r));
/* With counts of type COUNT and names ending in TAIL. The end of a synchronous send also says that the
 * receiver was there. */
#define MESSAGES(COUNT, TAIL)                                                                                \
    SEND(MPI_Send##TAIL, COUNT, SENT)                                                                        \
    SEND(MPI_Ssend##TAIL, COUNT, SENT; message_ordered(BOTH, result, start))                                 \
    SEND(MPI_Bsend##TAIL, COUNT, SENT)                                                                       \
    SEND(MPI_Rsend##TAIL, COUNT, SENT)                                                                       \
    ISEND(MPI_Isend##TAIL, COUNT)                                                                            \
    ISEND(MPI_Issend##TAIL, COUNT)                                                                           \
    ISEND(MPI_Ibsend##TAIL, COUNT)                                                                           \
    ISEND(MPI_Irsend##TAIL, COUNT)                                                                           \
    WRAP_RECEIVE(MPI_Recv##TAIL,                                                                             \
                 (void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s),        \
                 (b, n, t, from, tag, comm, status), RECEIVED(from));                                        \
    WRAP_RECEIVE(MPI_Sendrecv##TAIL,                                                                         \
                 (const void *b, COUNT n, MPI_Datatype t, int to, int tag, void *c, COUNT m, MPI_Datatype u, \
                  int from, int other, MPI_Comm comm, MPI_Status *s),                                        \
                 (b, n, t, to, tag, c, m, u, from, other, comm, status), SENT;                               \
                 RECEIVED(from));                                                                            \
    WRAP_RECEIVE(MPI_Sendrecv_replace##TAIL,                                                                 \
                 (void *b, COUNT n, MPI_Datatype t, int to, int tag, int from, int other, MPI_Comm comm,     \
                  MPI_Status *s),                                                                            \
                 (b, n, t, to, tag, from, other, comm, status), SENT;                                        \
                 RECEIVED(from));                                                                            \
    WRAP_CALL(MPI_Irecv##TAIL,                                                                               \
              (void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request *r),          \
              (b, n, t, from, tag, comm, r), (void)start;                                                    \
              message_expect((uintptr_t)*r, comm, from, tag, result));
MESSAGES(int, )
WRAP_CALL(MPI_Start, (MPI_Request * r), (r), message_ordered(OUT, result, start); message_forget(1, r));
WRAP_CALL(MPI_Startall, (int n, MPI_Request r[]), (n, r), message_ordered(OUT, result, start);
          message_forget(n, r));

/* A message that a probe has taken is received by its handle. */
WRAP_CALL(MPI_Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *m, MPI_Status *s),
          (from, tag, comm, m, s), message_ordered(IN, result, start);
          message_expect((uintptr_t)*m, comm, from, tag, result));
WRAP_CALL(MPI_Improbe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *m, MPI_Status *s),
          (from, tag, comm, flag, m, s), message_ordered(IN, result, start);
          if (result == MPI_SUCCESS && *flag) message_expect((uintptr_t)*m, comm, from, tag, result));

static void received(uintptr_t before, const MPI_Status *status, int result, double start) {
    LOOK_UP(is_cancelled, MPI_Test_cancelled, (const MPI_Status *, int *));
    MPI_Comm comm;
    int cancelled = 0;
    bool overtook;
    bool known = message_take(before, &comm, status, &overtook);
    if (!known || overtook) message_ordered(IN, result, start);
    if (known && is_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled &&
        status->MPI_SOURCE != MPI_PROC_NULL)
        message_passed(EVENT_RECEIVE, comm, status->MPI_SOURCE, status->MPI_TAG, result, start);
}

#define MATCHED(COUNT, TAIL)                                                                                 \
    EXPORT int PMPI_Mrecv##TAIL(void *b, COUNT n, MPI_Datatype t, MPI_Message *m, MPI_Status *s) {           \
        NEXT_MPI(MPI_Mrecv##TAIL, (void *, COUNT, MPI_Datatype, MPI_Message *, MPI_Status *));               \
        MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;                                         \
        uintptr_t before = (uintptr_t)*m;                                                                    \
        double start = recorder_now();                                                                       \
        int result = next(b, n, t, m, status);                                                               \
        received(before, status, result, start);                                                             \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(MPI_Mrecv##TAIL, (void *b, COUNT n, MPI_Datatype t, MPI_Message *m, MPI_Status *s));          \
    EXPORT int PMPI_Imrecv##TAIL(void *b, COUNT n, MPI_Datatype t, MPI_Message *m, MPI_Request *r) {         \
        NEXT_MPI(MPI_Imrecv##TAIL, (void *, COUNT, MPI_Datatype, MPI_Message *, MPI_Request *));             \
        uintptr_t before = (uintptr_t)*m;                                                                    \
        int result = next(b, n, t, m, r);                                                                    \
        if (result == MPI_SUCCESS) message_renamed(before, (uintptr_t)*r);                                   \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(MPI_Imrecv##TAIL, (void *b, COUNT n, MPI_Datatype t, MPI_Message *m, MPI_Request *r));
MATCHED(int, )

/* A call that completes some of `n` requests: these as they were before, and their statuses. */
typedef struct {
    int n;
    MPI_Request *before, *accesses;
    MPI_Status *status, *own;
    double start;
} completion;

static completion completion_begin(int n, const MPI_Request r[], MPI_Status *s, bool ignored) {
    completion c = {.n = n, .accesses = access_before(n, r), .status = s};
    size_t some = n > 0 ? (size_t)n : 1;
    if (message_wanted(MPI_SUCCESS)) {
        c.before = malloc(some * sizeof *c.before);
        if (ignored) c.own = c.status = malloc(some * sizeof *c.own);
        if (ignored && !c.own) c.status = s;
        if (!c.status || (ignored && !c.own)) free(c.before), c.before = NULL;
        for (int i = 0; c.before && i < n; i++) c.before[i] = r[i];
    }
    c.start = recorder_now();
    return c;
}

/* `done` of the requests are complete, those at `index`, or the first ones. */
static void completion_end(completion *c, const MPI_Request r[], int done, const int index[], int result) {
    access_after(c->n, c->accesses, r, c->start);
    for (int i = 0; c->before && i < done; i++) {
        MPI_Request one = c->before[index ? index[i] : i];
        if (one != MPI_REQUEST_NULL) received((uintptr_t)one, &c->status[i], result, c->start);
    }
    free(c->before);
    free(c->own);
}

/* X(name, parameters, how many requests, does it ignore statuses, arguments, how many are complete, which) */
#define COMPLETION(NAME, PARAMETERS, N, IGNORED, ARGUMENTS, DONE, INDEX)                                     \
    EXPORT int P##NAME PARAMETERS {                                                                          \
        NEXT_MPI(NAME, PARAMETERS);                                                                          \
        completion c = completion_begin(N, r, s, s == IGNORED);                                              \
        s = c.status;                                                                                        \
        int result = next ARGUMENTS;                                                                         \
        completion_end(&c, r, result == MPI_SUCCESS ? (DONE) : 0, INDEX, result);                            \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, PARAMETERS)
#define ONE MPI_STATUS_IGNORE
#define MANY MPI_STATUSES_IGNORE
#define OF(COUNT) ((COUNT) == MPI_UNDEFINED ? 0 : (COUNT))
COMPLETION(MPI_Wait, (MPI_Request * r, MPI_Status *s), 1, ONE, (r, s), 1, NULL);
COMPLETION(MPI_Test, (MPI_Request * r, int *flag, MPI_Status *s), 1, ONE, (r, flag, s), !!*flag, NULL);
COMPLETION(MPI_Waitall, (int n, MPI_Request r[], MPI_Status s[]), n, MANY, (n, r, s), n, NULL);
COMPLETION(MPI_Testall, (int n, MPI_Request r[], int *flag, MPI_Status s[]), n, MANY, (n, r, flag, s),
           *flag ? n : 0, NULL);
COMPLETION(MPI_Waitany, (int n, MPI_Request r[], int *i, MPI_Status *s), n, ONE, (n, r, i, s),
           *i != MPI_UNDEFINED, i);
COMPLETION(MPI_Testany, (int n, MPI_Request r[], int *i, int *flag, MPI_Status *s), n, ONE,
           (n, r, i, flag, s), *flag && *i != MPI_UNDEFINED, i);
COMPLETION(MPI_Waitsome, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), n, MANY, (n, r, m, i, s),
           OF(*m), i);
COMPLETION(MPI_Testsome, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), n, MANY, (n, r, m, i, s),
           OF(*m), i);

EXPORT int PMPI_Request_free(MPI_Request *r) {
    NEXT_MPI(MPI_Request_free, (MPI_Request *));
    message_forget(1, r);
    return next(r);
}
BOTH_NAMES(MPI_Request_free, (MPI_Request * r));

WRAP_MESSAGE(MPI_Request_get_status, IN, (MPI_Request r, int *flag, MPI_Status *s), (r, flag, s));
WRAP_MESSAGE(MPI_Probe, IN, (int from, int tag, MPI_Comm comm, MPI_Status *s), (from, tag, comm, s));
WRAP_MESSAGE(MPI_Iprobe, IN, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *s),
             (from, tag, comm, flag, s));

#if MPI_VERSION >= 4
#define BOTH_WAYS(COUNT, TAIL)                                                                               \
    WRAP_CALL(MPI_Isendrecv##TAIL,                                                                           \
              (const void *b, COUNT n, MPI_Datatype t, int to, int tag, void *c, COUNT m, MPI_Datatype u,    \
               int from, int other, MPI_Comm comm, MPI_Request *r),                                          \
              (b, n, t, to, tag, c, m, u, from, other, comm, r), SENT;                                       \
              message_expect((uintptr_t)*r, comm, from, other, result));                                     \
    WRAP_CALL(MPI_Isendrecv_replace##TAIL,                                                                   \
              (void *b, COUNT n, MPI_Datatype t, int to, int tag, int from, int other, MPI_Comm comm,        \
               MPI_Request *r),                                                                              \
              (b, n, t, to, tag, from, other, comm, r), SENT;                                                \
              message_expect((uintptr_t)*r, comm, from, other, result));
MESSAGES(MPI_Count, _c)
MATCHED(MPI_Count, _c)
BOTH_WAYS(int, )
BOTH_WAYS(MPI_Count, _c)
WRAP_MESSAGE(MPI_Pready, OUT, (int i, MPI_Request r), (i, r));
WRAP_MESSAGE(MPI_Pready_range, OUT, (int i, int j, MPI_Request r), (i, j, r));
/* MPICH 4.0 declares it without `const`. */
typedef __typeof__(_Generic(&MPI_Pready_list,
                       int (*)(int, const int *, MPI_Request): (const int *)NULL,
                       default: (int *)NULL)) partitions;
WRAP_MESSAGE(MPI_Pready_list, OUT, (int n, partitions i, MPI_Request r), (n, i, r));
WRAP_MESSAGE(MPI_Parrived, IN, (MPI_Request r, int i, int *flag), (r, i, flag));
#endif
