/* SPDX-License-Identifier: BSD-3-Clause */
/* Order by messages and communicators: mpi_kinds.h. */
#include "mpi_kinds.h"

/* ---- messages */

static void ssend(void) {
    if (me == 0) put(), MUST(MPI_Ssend(ONE(&byte), 1, 1, WORLD));
    if (me == 1) take(0), put();
}
/* A synchronous send ends after its receive began; others may end before. */
static void received_first(void) {
    if (me == 1) put(), take(0);
    if (me == 0) MUST(MPI_Ssend(ONE(&byte), 1, 1, WORLD)), put();
}
static void issend_received(void) {
    if (me == 1) put(), take(0);
    if (me == 0) MUST(MPI_Issend(ONE(&byte), 1, 1, WORLD, request)), wait_for(request), put();
}
static void issend_early(void) {
    if (me == 1) put(), take(0);
    if (me == 0) MUST(MPI_Issend(ONE(&byte), 1, 1, WORLD, request)), put(), wait_for(request);
}
static void sent_only(void) {
    if (me == 1) put(), take(0);
    if (me == 0) give(1), put();
}
static void ready(void) {
    if (me == 0) take(1), put(), MUST(MPI_Rsend(ONE(&byte), 1, 2, WORLD));
    if (me == 1) {
        MUST(MPI_Irecv(ONE(some), 0, 2, WORLD, request));
        give(0);
        wait_for(request);
        put();
    }
}
static void of_nothing(void) {
    if (me == 0) put(), MUST(MPI_Send(NULL, 0, MPI_BYTE, 1, 1, WORLD));
    if (me == 1) MUST(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, WORLD, ANY)), put();
}
static void to_nobody(void) {
    int other = me == 2 ? 2 : MPI_PROC_NULL;
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), other, 1, WORLD));
    if (me == 1) MUST(MPI_Recv(ONE(&byte), other, 1, WORLD, ANY)), put();
}
/* The second of two receives is waited for first. */
static void second_first(void) {
    if (me == 0) give(1), put(), give(1);
    if (me == 1) {
        for (int i = 0; i < 2; i++) MUST(MPI_Irecv(ONE(some + i), 0, 1, WORLD, request + i));
        wait_for(request + 1);
        put();
        wait_for(request);
    }
}
static void first_only(void) {
    if (me == 0) give(1), put(), give(1);
    if (me == 1) {
        for (int i = 0; i < 2; i++) MUST(MPI_Irecv(ONE(some + i), 0, 1, WORLD, request + i));
        wait_for(request);
        put();
        wait_for(request + 1);
    }
}
static void from_any(void) {
    if (me == 0) put(), take(2), give(1);
    if (me == 1) take(MPI_ANY_SOURCE), take(MPI_ANY_SOURCE), put();
    if (me == 2) give(1), give(0);
}
static void by_turns(bool late) {
    for (int i = 0; i < 3; i++) {
        if (me == 0) put(), give(1), take(1);
        if (me == 1 && late) put(), take(0), give(0);
        if (me == 1 && !late) take(0), put(), give(0);
    }
}
static void turns(void) { by_turns(false); }
static void turns_late(void) { by_turns(true); }
static void probed_only(void) {
    if (me == 0) put(), give(1);
    if (me == 1) MUST(MPI_Probe(0, 1, WORLD, ANY)), put(), take(0);
}
static void persistent(void) {
    if (me == 0) {
        MUST(MPI_Send_init(ONE(&byte), 1, 1, WORLD, request));
        put();
        MUST(MPI_Startall(1, request));
    }
    if (me == 1) MUST(MPI_Recv_init(ONE(some), 0, 1, WORLD, request)), MUST(MPI_Start(request));
    if (me < 2) wait_for(request);
    if (me == 1) put();
    if (me < 2) MUST(MPI_Request_free(request));
}
static void persistent_early(void) {
    if (me == 0) {
        MUST(MPI_Send_init(ONE(&byte), 1, 1, WORLD, request));
        MUST(MPI_Start(request));
        put();
    }
    if (me == 1) MUST(MPI_Recv_init(ONE(some), 0, 1, WORLD, request)), MUST(MPI_Start(request));
    if (me < 2) wait_for(request);
    if (me == 1) put();
    if (me < 2) MUST(MPI_Request_free(request));
}
static void cancelled_probe(void) { /* another tag's message is there */
    int there = 0;
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), 2, 5, WORLD));
    if (me == 1) put();
    if (me == 2) {
        while (!there) MUST(MPI_Iprobe(0, 5, WORLD, &there, ANY));
        MUST(MPI_Recv(ONE(&byte), 0, 5, WORLD, ANY));
    }
}

/* ---- communicators */

/* 0 and 2 meet, then 2 and 1; or the other way round. */
static void subgroups(bool right) {
    MPI_Comm first = of(me == 1 ? MPI_UNDEFINED : 0, me), then = of(me == 0 ? MPI_UNDEFINED : 0, -me);
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put();
    for (int i = 0; i < 2; i++) {
        MPI_Comm now = (i == 0) == right ? first : then;
        if (now != MPI_COMM_NULL) MUST(MPI_Barrier(now));
    }
    if (me == 1) put();
    let_go(&first);
    let_go(&then);
}
static void subgroups_meet(void) { subgroups(true); }
static void subgroups_late(void) { subgroups(false); }
static void reversed(void) { /* rank 1 is rank 1 there, too */
    MPI_Comm back = of(0, -me), twice;
    MUST(MPI_Comm_dup(back, &twice));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), 1, 1, twice));
    if (me == 1) MUST(MPI_Recv(ONE(&byte), 2, 1, twice, ANY)), put();
    let_go(&back);
    let_go(&twice);
}
static void other_twin(void) { /* the message that process 1 waits for goes through another duplicate */
    MPI_Comm one, two;
    MUST(MPI_Comm_dup(WORLD, &one));
    MUST(MPI_Comm_dup(WORLD, &two));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) MUST(MPI_Send(ONE(&byte), 1, 1, two)), put(), MUST(MPI_Send(ONE(&byte), 1, 1, one));
    if (me == 1) {
        MUST(MPI_Recv(ONE(&byte), 0, 1, two, ANY));
        put();
        MUST(MPI_Recv(ONE(&byte), 0, 1, one, ANY));
    }
    let_go(&one);
    let_go(&two);
}
static void freed_and_made(void) { /* a communicator gets the handle of a freed one */
    MPI_Comm one, two;
    MUST(MPI_Comm_dup(WORLD, &one));
    let_go(&one);
    MUST(MPI_Comm_dup(WORLD, &two));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), 1, 1, two));
    if (me == 1) MUST(MPI_Recv(ONE(&byte), 0, 1, two, ANY)), put();
    let_go(&two);
}
static void duplicated(void) {
    MPI_Comm made;
    if (me == 0) put();
    MUST(MPI_Comm_dup(WORLD, &made));
    if (me == 1) put();
    let_go(&made);
}
static MPI_Comm between_groups(void) {
    MPI_Comm half = of(me > 0, me), both;
    MUST(MPI_Intercomm_create(half, 0, WORLD, me ? 0 : 1, 9, &both));
    let_go(&half);
    return both;
}
static void intercommunicator(void) {
    MPI_Comm both = between_groups();
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), 0, 1, both));
    if (me == 1) MUST(MPI_Recv(ONE(&byte), 0, 1, both, ANY)), put();
    let_go(&both);
}
static void intercommunicator_early(void) {
    MPI_Comm both = between_groups();
    MUST(MPI_Barrier(WORLD));
    if (me == 0) MUST(MPI_Send(ONE(&byte), 0, 1, both)), put();
    if (me == 1) MUST(MPI_Recv(ONE(&byte), 0, 1, both, ANY)), put();
    let_go(&both);
}
static void intercommunicator_root(void) {
    MPI_Comm both = between_groups();
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put();
    MUST(MPI_Bcast(ONE(&byte), me ? 0 : MPI_ROOT, both));
    if (me == 1) put();
    let_go(&both);
}
static void merged(void) {
    MPI_Comm both = between_groups(), one;
    MUST(MPI_Intercomm_merge(both, me > 0, &one));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put(), MUST(MPI_Send(ONE(&byte), 1, 1, one));
    if (me == 1) MUST(MPI_Recv(ONE(&byte), 0, 1, one, ANY)), put();
    let_go(&one);
    let_go(&both);
}

static const kind kinds[] = {
    KIND(ssend),
    KIND(received_first),
    KIND(issend_received),
    KIND(issend_early),
    KIND(sent_only),
    KIND(ready),
    KIND(of_nothing),
    KIND(to_nobody),
    KIND(second_first),
    KIND(first_only),
    KIND(from_any),
    KIND(turns),
    KIND(turns_late),
    KIND(probed_only),
    KIND(persistent),
    KIND(persistent_early),
    KIND(cancelled_probe),
    KIND(subgroups_meet),
    KIND(subgroups_late),
    KIND(reversed),
    KIND(other_twin),
    KIND(freed_and_made),
    KIND(duplicated),
    KIND(intercommunicator),
    KIND(intercommunicator_early),
    KIND(intercommunicator_root),
    KIND(merged),
};

int main(int argc, char **argv) { return run_kinds(argc, argv, kinds, sizeof kinds / sizeof *kinds); }
