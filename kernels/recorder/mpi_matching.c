/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_messages.h"
#include "state.h"

#define WORLD 1

uint64_t message_hash(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

/* With the lock held; NULL for an unknown one. */
static communicator *find(MPI_Comm comm) {
    recorder *the = recorder_state();
    for (int i = 0; i < the->communicators; i++)
        if (the->communicator[i].handle == (uintptr_t)comm) return &the->communicator[i];
    if (comm != MPI_COMM_WORLD || the->communicators == COMMUNICATORS) return NULL;
    the->communicator[the->communicators] = (communicator){(uintptr_t)comm, WORLD, 0};
    return &the->communicator[the->communicators++];
}

bool message_wanted(int result) {
    return result == MPI_SUCCESS && !recorder_depth && recorder_on() && recorder_wants_segments();
}

int64_t message_key(MPI_Comm comm, int tag) {
    recorder_lock();
    const communicator *known = find(comm);
    uint64_t of = known ? known->identity : 0;
    recorder_unlock();
    return of ? (int64_t)(message_hash(of + message_hash((uint64_t)(int64_t)tag + 1)) >> 1 | 1) : 0;
}

int message_processes(MPI_Comm comm) {
    LOOK_UP(get_size, MPI_Comm_size, (MPI_Comm, int *));
    int processes = 0;
    return get_size(comm, &processes) == MPI_SUCCESS ? processes : 0;
}

int message_process(MPI_Comm comm, int rank) {
    if (comm == MPI_COMM_WORLD) return rank;
    LOOK_UP(group_of, MPI_Comm_group, (MPI_Comm, MPI_Group *));
    LOOK_UP(translate, MPI_Group_translate_ranks, (MPI_Group, int, const int *, MPI_Group, int *));
    LOOK_UP(release, MPI_Group_free, (MPI_Group *));
    MPI_Group mine, all;
    int found = -2;
    if (rank < 0 || rank >= message_processes(comm)) return -2;
    group_of(comm, &mine);
    group_of(MPI_COMM_WORLD, &all);
    if (translate(mine, 1, &rank, all, &found) != MPI_SUCCESS || found < 0) found = -2;
    release(&mine);
    release(&all);
    return found;
}

/* All processes of a communicator make others of it in the same order. */
void message_communicator(MPI_Comm parent, MPI_Comm made, int result) {
    if (result != MPI_SUCCESS || !recorder_on() || !recorder_wants_segments()) return;
    recorder_lock();
    recorder *the = recorder_state();
    communicator *from = find(parent);
    uint64_t identity = from ? message_hash(from->identity + message_hash(++from->made)) : 0;
    communicator *old = made == MPI_COMM_NULL ? NULL : find(made); /* freed by a call that was not seen */
    if (old) *old = the->communicator[--the->communicators];
    if (identity && made != MPI_COMM_NULL && the->communicators < COMMUNICATORS)
        the->communicator[the->communicators++] = (communicator){(uintptr_t)made, identity, 0};
    recorder_unlock();
}

void message_communicator_freed(MPI_Comm comm) {
    if (!recorder_on()) return;
    recorder_lock();
    recorder *the = recorder_state();
    communicator *known = comm == MPI_COMM_WORLD ? NULL : find(comm);
    if (known) *known = the->communicator[--the->communicators];
    recorder_unlock();
}

/* With the lock held. */
static bool forget(uintptr_t request, expected_message *found) {
    recorder *the = recorder_state();
    for (int i = the->expecting - 1; i >= 0; i--)
        if (the->expected[i].request == request) {
            if (found) *found = the->expected[i];
            the->expected[i] = the->expected[--the->expecting];
            return true;
        }
    return false;
}

void message_expect(uintptr_t handle, MPI_Comm comm, int from, int tag, int result) {
    if (!message_wanted(result)) return;
    recorder_lock();
    recorder *the = recorder_state();
    forget(handle, NULL);
    if (the->expecting < EXPECTED)
        the->expected[the->expecting++] =
            (expected_message){handle, (uintptr_t)comm, from, tag, the->expected_ever++};
    recorder_unlock();
}

bool message_take(uintptr_t handle, MPI_Comm *comm, const MPI_Status *status, bool *overtook) {
    expected_message one;
    recorder_lock();
    const recorder *the = recorder_state();
    bool found = forget(handle, &one);
    *overtook = false;
    for (int i = 0; found && i < the->expecting; i++) {
        const expected_message *other = &the->expected[i];
        *overtook |= other->number < one.number && other->communicator == one.communicator &&
                     (other->from == status->MPI_SOURCE || other->from == MPI_ANY_SOURCE) &&
                     (other->tag == status->MPI_TAG || other->tag == MPI_ANY_TAG);
    }
    recorder_unlock();
    if (found) *comm = (MPI_Comm)one.communicator;
    return found;
}

void message_renamed(uintptr_t before, uintptr_t now) {
    expected_message one;
    recorder_lock();
    recorder *the = recorder_state();
    if (forget(before, &one)) {
        forget(now, NULL); /* a handle may be used again */
        one.request = now;
        the->expected[the->expecting++] = one;
    }
    recorder_unlock();
}

void message_forget(int n, const MPI_Request request[]) {
    if (!recorder_on() || !recorder_wants_segments()) return;
    recorder_lock();
    for (int i = 0; i < n; i++) forget((uintptr_t)request[i], NULL);
    recorder_unlock();
}
