/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the program waits for accesses that other calls began: nonblocking ones, and split collective ones
 * (mpiio.c). A wait for several has an event for each; its time is the first one's. */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "mpi_messages.h"
#include "state.h"

/* With the lock held. */
static bool take(MPI_Request request, awaited *found) {
    recorder *the = recorder_state();
    for (int k = the->awaiting - 1; k >= 0; k--)
        if (the->awaited[k].request == (uintptr_t)request) {
            *found = the->awaited[k];
            the->awaited[k] = the->awaited[--the->awaiting];
            return true;
        }
    return false;
}

/* A request whose end was not seen is forgotten when its number comes again. Of too many, some have no times.
 */
void access_begun(MPI_Request request, const record *r, int direction) {
    recorder *the = recorder_state();
    awaited old;
    if (!the->most_segments) return;
    take(request, &old);
    if (the->awaiting < EXPECTED)
        the->awaited[the->awaiting++] = (awaited){(uintptr_t)request, r, direction, the->sequence - 1};
}

MPI_Request *access_before(int n, const MPI_Request request[]) {
    if (n <= 0 || recorder_depth || !recorder_on()) return NULL;
    recorder_lock();
    bool some = recorder_state()->awaiting > 0;
    recorder_unlock();
    MPI_Request *copy = some ? malloc((size_t)n * sizeof *copy) : NULL;
    if (copy) memcpy(copy, request, (size_t)n * sizeof *copy);
    return copy;
}

void access_after(int n, MPI_Request *before, const MPI_Request request[], double start) {
    if (!before) return;
    double end = recorder_now();
    recorder_lock();
    for (int i = 0; i < n && recorder_goes_on(); i++) {
        awaited one;
        if (before[i] == request[i] || !take(before[i], &one)) continue;
        event_add(one.file, EVENT_WAIT, one.direction, (int64_t)one.sequence + 1, start, end);
        start = end;
    }
    recorder_unlock();
    free(before);
}
