/* SPDX-License-Identifier: BSD-3-Clause */
/* What identifies a message on all processes: its communicator and tag; and receives in progress. */
#ifndef RECORDER_MPI_MESSAGES_H
#define RECORDER_MPI_MESSAGES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi_handles.h"
#include "recorder.h"

/* Is a call of this result recorded? */
bool message_wanted(int result);
/* 0: the communicator is not one of MPI_COMM_WORLD and what was duplicated or split from it. */
int64_t message_key(MPI_Comm comm, int tag);
/* Spreads the bits of a number: the finalizer of MurmurHash3. */
uint64_t message_hash(uint64_t x);
/* 0: unknown. */
int message_processes(MPI_Comm comm);
/* The rank among all processes; -2: unknown. */
int message_process(MPI_Comm comm, int rank);
void message_communicator(MPI_Comm parent, MPI_Comm made, int result);
void message_communicator_freed(MPI_Comm comm);

/* A receive in progress: its request, or the handle of a message that a probe took. */
void message_expect(uintptr_t handle, MPI_Comm comm, int from, int tag, int result);
/* True once for each expected one. `overtook`: an earlier one, which may receive the same, is still in
 * progress. */
bool message_take(uintptr_t handle, MPI_Comm *comm, const MPI_Status *status, bool *overtook);
/* It has another handle now. */
void message_renamed(uintptr_t before, uintptr_t now);
/* Nothing is expected of these any more. */
void message_forget(int n, const MPI_Request request[]);

/* mpi_messages.c. A call that may order processes, in these `ways` (events.h). */
void message_ordered(int ways, int result, double start);
/* A message (EVENT_SEND or EVENT_RECEIVE). `other`: ALL_OTHERS for a rooted collective call; `tag`: below 0
 * for a collective call. */
enum { ALL_OTHERS = INT_MIN };
void message_passed(int kind, MPI_Comm comm, int other, int tag, int result, double start);

/* `BEFORE`, `AFTER`: statements around the call. */
#define WRAP_AROUND(NAME, PARAMETERS, ARGUMENTS, BEFORE, AFTER)                                              \
    EXPORT int P##NAME PARAMETERS {                                                                          \
        NEXT_MPI(NAME, PARAMETERS);                                                                          \
        BEFORE;                                                                                              \
        double start = recorder_now();                                                                       \
        int result = next ARGUMENTS;                                                                         \
        AFTER;                                                                                               \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, PARAMETERS)
#define WRAP_CALL(NAME, PARAMETERS, ARGUMENTS, AFTER) WRAP_AROUND(NAME, PARAMETERS, ARGUMENTS, , AFTER)
#define WRAP_MESSAGE(NAME, WAYS, PARAMETERS, ARGUMENTS)                                                      \
    WRAP_CALL(NAME, PARAMETERS, ARGUMENTS, message_ordered(WAYS, result, start))

/* mpi_waits.c. A call began an access that ends when the program waits for it; with the lock held. */
void access_begun(MPI_Request request, const record *r, int direction);
/* Around a call that waits for requests, or looks at them: the second needs the requests as they were before;
 * NULL: none of an access. */
MPI_Request *access_before(int n, const MPI_Request request[]);
void access_after(int n, MPI_Request *before, const MPI_Request request[], double start);

#endif
