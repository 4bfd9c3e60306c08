/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes 0 and 1 of three write the same bytes with pwrite. For test_recorder_order.py.
 *
 *     mpi_ordered FOLDER KIND...    how they are ordered, or seem to be
 *
 * Each kind has the file FOLDER/KIND/f, and the next one begins when all processes ended it.
 * Process 0 writes between before() and after(), process 1 between arrive() and leave(). */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi_check.h"

#define BYTES 100
#define SIZE 200 /* of the file */
#define WORLD MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE

static char token = 'a', all[3], around[2];
static int me;
static int counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
static const char *kind, *path_of_all;
static MPI_Comm other, pair, late, grid, between; /* late: of 1 and 2; between: of 0, and of 1 and 2 */
static MPI_Win window;
static MPI_File opened = MPI_FILE_NULL;
static MPI_Request request = MPI_REQUEST_NULL, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static char *shared, flag[4096], moved[4096], own[4096];

static bool is(const char *name) { return !strcmp(kind, name); }
static void give(int to, int tag, MPI_Comm comm) { CHECK(MPI_Send(&token, 1, MPI_BYTE, to, tag, comm)); }
static void take(int from, int tag, MPI_Comm comm) {
    CHECK(MPI_Recv(&token, 1, MPI_BYTE, from, tag, comm, ANY));
}

/* What all three call between the two writes, or in racy kinds around them. */
static void collective(void) {
    if (is("broadcast") || is("broadcast-from-1"))
        CHECK(MPI_Bcast(&token, 1, MPI_BYTE, is("broadcast") ? 0 : 1, WORLD));
    else if (is("reduce") || is("reduce-to-0"))
        CHECK(MPI_Reduce(&token, all, 1, MPI_BYTE, MPI_BOR, is("reduce") ? 1 : 0, WORLD));
    else if (is("gather") || is("gather-to-0"))
        CHECK(MPI_Gather(&token, 1, MPI_BYTE, all, 1, MPI_BYTE, is("gather") ? 1 : 0, WORLD));
    else if (is("scatter") || is("scatter-from-1"))
        CHECK(MPI_Scatter(all, 1, MPI_BYTE, &token, 1, MPI_BYTE, is("scatter") ? 0 : 1, WORLD));
    else if (is("allgatherv"))
        CHECK(MPI_Allgatherv(&token, 1, MPI_BYTE, all, counts, places, MPI_BYTE, WORLD));
    else if (is("gather-scatter")) {
        CHECK(MPI_Gather(&token, 1, MPI_BYTE, all, 1, MPI_BYTE, 2, WORLD));
        CHECK(MPI_Scatter(all, 1, MPI_BYTE, &token, 1, MPI_BYTE, 2, WORLD));
    } else if (is("ibarrier")) {
        CHECK(MPI_Ibarrier(WORLD, &request));
        CHECK(MPI_Wait(&request, ANY));
    } else if (is("ibarrier-tested")) {
        CHECK(MPI_Ibarrier(WORLD, &request));
        for (int done = 0; !done;) CHECK(MPI_Test(&request, &done, ANY));
    } else if (is("iallgather")) {
        CHECK(MPI_Iallgather(&token, 1, MPI_BYTE, all, 1, MPI_BYTE, WORLD, &request));
        CHECK(MPI_Wait(&request, ANY));
    } else if (is("opened")) {
        CHECK(MPI_File_open(WORLD, own, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &opened));
        if (me == 1) CHECK(MPI_File_write_at(opened, 0, &token, 1, MPI_BYTE, ANY));
        CHECK(MPI_File_set_size(opened, 0));
    } else if (is("reduce-scatter"))
        CHECK(MPI_Reduce_scatter_block(all, &token, 1, MPI_BYTE, MPI_BOR, WORLD));
    else if (is("neighbors"))
        CHECK(MPI_Neighbor_allgather(&token, 1, MPI_BYTE, around, 1, MPI_BYTE, grid));
    else if (is("scan"))
        CHECK(MPI_Scan(&token, all, 1, MPI_BYTE, MPI_BOR, WORLD));
    else if (is("barrier-between"))
        CHECK(MPI_Barrier(between));
    else if (is("fence"))
        CHECK(MPI_Win_fence(0, window));
    else if (is("ring"))
        CHECK(MPI_Sendrecv_replace(&token, 1, MPI_BYTE, (me + 1) % 3, 1, (me + 2) % 3, 1, WORLD, ANY));
    else if (is("wrong-ring"))
        CHECK(MPI_Sendrecv_replace(&token, 1, MPI_BYTE, (me + 2) % 3, 1, (me + 1) % 3, 1, WORLD, ANY));
    else if (is("barrier-of-others") && me)
        CHECK(MPI_Barrier(late));
}

static void make(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd < 0 || close(fd)) MPI_Abort(WORLD, 4);
}

/* Calls by which a path comes or goes: after a kind's name. */
static void change(void) {
    MPI_File made;
    int status = 0;
    if (is("made-by-mkdirat")) status = mkdirat(AT_FDCWD, flag, 0777);
    if (is("made-by-linkat")) status = linkat(AT_FDCWD, moved, AT_FDCWD, flag, 0);
    if (is("made-by-symlinkat")) status = symlinkat(moved, AT_FDCWD, flag);
    if (is("made-by-renameat")) status = renameat(AT_FDCWD, moved, AT_FDCWD, flag);
    if (is("made-by-renameat2")) status = renameat2(AT_FDCWD, moved, AT_FDCWD, flag, 0);
    if (is("gone-by-remove")) status = remove(moved);
    if (is("gone-by-unlinkat")) status = unlinkat(AT_FDCWD, moved, 0);
    if (is("made-by-mpi") || is("gone-by-mpi")) {
        int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | (is("gone-by-mpi") ? MPI_MODE_DELETE_ON_CLOSE : 0);
        CHECK(MPI_File_open(MPI_COMM_SELF, is("made-by-mpi") ? flag : moved, mode, MPI_INFO_NULL, &made));
        CHECK(MPI_File_close(&made));
    }
    if (status) MPI_Abort(WORLD, 5);
}

static void await_change(void) {
    struct statx s;
    bool gone = !strncmp(kind, "gone-by-", 8);
    if (gone || !strncmp(kind, "made-by-", 8))
        while (!statx(AT_FDCWD, gone ? moved : flag, 0, STATX_TYPE, &s) == gone) continue;
}

static void group_of_one(int rank, MPI_Group *group) {
    MPI_Group world;
    CHECK(MPI_Comm_group(WORLD, &world));
    CHECK(MPI_Group_incl(world, 1, &rank, group));
}

/* A message that process 1 did not ask for first. */
static const char *const messages[] = {
    "send",        "wildcard",   "waited", "waited-all", "late-wait",   "tested",     "waited-any",
    "waited-some", "tested-all", "probed", "taken",      "taken-later", "persistent", "cancelled",
};

static bool is_message(void) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (is(messages[i])) return true;
    return false;
}

static void before(void) {
    if (is("other-tag")) give(1, 1, WORLD);
    if (is("other-communicator")) give(1, 1, other);
    if (is("early-send")) CHECK(MPI_Isend(&token, 1, MPI_BYTE, 1, 1, WORLD, &request));
    if (is("other-waited")) give(1, 2, WORLD);
    if (is("early-ibarrier")) CHECK(MPI_Ibarrier(WORLD, &request));
    if (is("early-file")) make(flag);
    if (is("own-files")) make(own);
    if (is("lock-by-file"))
        while (mkdir(flag, 0777)) continue;
}

static void after(void) {
    if (is_message() || is("other-waited")) give(1, 1, WORLD);
    if (is("on-grid")) give(1, 1, grid);
    if (is("sent-between")) give(1, 1, between);
    if (is("early-ibarrier")) CHECK(MPI_Wait(&request, ANY));
    if (is("file-by-turns")) usleep(50000);
    if (is("file") || is("file-by-turns")) make(flag);
    if (is("moved-file")) {
        make(moved);
        if (rename(moved, flag)) MPI_Abort(WORLD, 4);
    }
    if (is("lock-by-file") && rmdir(flag)) MPI_Abort(WORLD, 4);
    change();
    if (is("posted")) {
        MPI_Group to;
        group_of_one(1, &to);
        CHECK(MPI_Win_start(to, 0, window));
        CHECK(MPI_Put(&token, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, window));
        CHECK(MPI_Win_complete(window));
    }
    if (is("flushed")) {
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window));
        CHECK(MPI_Accumulate(&token, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, MPI_REPLACE, window));
        CHECK(MPI_Win_unlock(1, window));
    }
    if (is("isend")) CHECK(MPI_Isend(&token, 1, MPI_BYTE, 1, 1, WORLD, &request));
    if (is("isend") || is("early-send")) CHECK(MPI_Wait(&request, ANY));
    if (is("sendrecv")) CHECK(MPI_Sendrecv(&token, 1, MPI_BYTE, 1, 1, all, 1, MPI_BYTE, 1, 1, WORLD, ANY));
    if (is("duplicate")) give(1, 1, other);
    if (is("split")) give(1, 1, pair);
    if (is("chain")) give(2, 1, WORLD);
    if (is("other-tag")) give(1, 2, WORLD);
    if (is("other-communicator")) give(1, 1, WORLD);
    if (is("answer")) take(1, 1, WORLD);
}

/* Ways to receive a message, or to notice that process 0 has come so far. */
static void arrive_later(void) {
    MPI_Message message;
    MPI_Group from;
    int done = 0, which[2];
    bool tested = is("tested") || is("tested-all"), some = is("waited-some"), any = is("waited-any");
    if (tested || some || any || is("other-waited")) CHECK(MPI_Irecv(all, 1, MPI_BYTE, 0, 1, WORLD, &two[0]));
    if (is("other-waited")) CHECK(MPI_Irecv(all + 1, 1, MPI_BYTE, 0, 2, WORLD, &two[1]));
    if (is("tested"))
        while (!done) CHECK(MPI_Test(&two[0], &done, ANY));
    if (is("tested-all"))
        while (!done) CHECK(MPI_Testall(2, two, &done, MPI_STATUSES_IGNORE));
    if (some) CHECK(MPI_Waitsome(2, two, &done, which, MPI_STATUSES_IGNORE));
    if (any) CHECK(MPI_Waitany(2, two, which, ANY));
    if (is("other-waited")) CHECK(MPI_Wait(&two[1], ANY));
    if (is("probed"))
        while (!done) CHECK(MPI_Iprobe(0, 1, WORLD, &done, ANY));
    if (is("probed") || is("cancelled")) take(0, 1, WORLD);
    if (is("taken") || is("taken-later")) CHECK(MPI_Mprobe(0, 1, WORLD, &message, ANY));
    if (is("taken")) CHECK(MPI_Mrecv(&token, 1, MPI_BYTE, &message, ANY));
    if (is("taken-later")) CHECK(MPI_Imrecv(all, 1, MPI_BYTE, &message, &request));
    if (is("taken-later")) CHECK(MPI_Wait(&request, ANY));
    if (is("persistent")) {
        CHECK(MPI_Recv_init(all, 1, MPI_BYTE, 0, 1, WORLD, &request));
        CHECK(MPI_Start(&request));
        CHECK(MPI_Wait(&request, ANY));
        CHECK(MPI_Request_free(&request));
    }
    if (is("on-grid")) take(0, 1, grid);
    if (is("early-ibarrier")) CHECK(MPI_Ibarrier(WORLD, &request));
    if (is("early-ibarrier")) CHECK(MPI_Wait(&request, ANY));
    if (is("file") || is("moved-file") || is("early-file"))
        while (access(flag, F_OK)) continue;
    while (is("file-by-turns") && access(flag, F_OK)) {
        CHECK(MPI_Iprobe(0, 77, WORLD, &done, ANY));
        usleep(10000);
    }
    await_change();
    for (int i = 0; is("asked-by-turns") && i < 1000; i++) {
        access(i % 2 ? flag : moved, F_OK);
        CHECK(MPI_Iprobe(0, 77, WORLD, &done, ANY));
    }
    if (is("own-files")) make(own);
    if (is("lock-by-file"))
        while (mkdir(flag, 0777)) continue;
    if (is("posted")) {
        group_of_one(0, &from);
        CHECK(MPI_Win_post(from, 0, window));
        CHECK(MPI_Win_wait(window));
    }
    while (is("flushed") && *all != 'a') {
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window));
        CHECK(MPI_Fetch_and_op(&token, all, MPI_BYTE, 1, 0, MPI_NO_OP, window));
        CHECK(MPI_Win_unlock(1, window));
    }
}

static void arrive(void) {
    if (is("send") || is("isend") || is("other-tag") || is("early-send")) take(0, 1, WORLD);
    if (is("wildcard")) take(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD);
    arrive_later();
    if (is("waited") || is("waited-all") || is("late-wait"))
        CHECK(MPI_Irecv(all, 1, MPI_BYTE, 0, 1, WORLD, &request));
    if (is("waited")) CHECK(MPI_Wait(&request, ANY));
    if (is("waited-all")) CHECK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
    if (is("sendrecv")) CHECK(MPI_Sendrecv(&token, 1, MPI_BYTE, 0, 1, all, 1, MPI_BYTE, 0, 1, WORLD, ANY));
    if (is("duplicate") || is("other-communicator")) take(0, 1, other);
    if (is("split")) take(0, 1, pair);
    if (is("chain") || is("sent-between")) take(2, 1, WORLD);
    if (is("answer")) give(0, 1, WORLD);
}

static void leave(void) {
    if (is("late-wait")) CHECK(MPI_Wait(&request, ANY));
    if (is("other-tag")) take(0, 2, WORLD);
    if (is("other-communicator")) take(0, 1, WORLD);
    if (is("other-waited")) CHECK(MPI_Wait(&two[0], ANY));
    if (is("lock-by-file") && rmdir(flag)) MPI_Abort(WORLD, 4);
}

/* A range from the file's offset or end, which a close of another descriptor may end. */
static int lock_from(int fd, short how) {
    struct flock range = {.l_type = how, .l_whence = SEEK_CUR};
    if (is("lock-from-end")) range.l_whence = SEEK_END, range.l_start = -SIZE;
    bool flocks = is("flock-and-close"), by_range = is("lock-and-close");
    int status = 0;
    if (is("lockf")) status = lockf(fd, how == F_UNLCK ? F_ULOCK : F_LOCK, 0);
    if (is("lock-from-here") || is("lock-from-end") || by_range) status = fcntl(fd, F_SETLKW, &range);
    if (is("unlock-from-here") && how != F_UNLCK) {
        range.l_whence = SEEK_SET, status = fcntl(fd, F_SETLKW, &range);
        range.l_type = F_UNLCK, range.l_whence = SEEK_CUR, status |= fcntl(fd, F_SETLKW, &range);
    }
    if (flocks) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if ((flocks || by_range) && how != F_UNLCK) make(path_of_all);
    return status;
}

static void lock(int fd, int guard, short how) {
    struct flock range = {.l_type = how, .l_whence = SEEK_SET};
    int status = 0;
    if (is("flock") || is("ftruncate-locked")) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if (is("lock-file")) status = flock(guard, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if (is("shared-locks")) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_SH);
    if (is("record-lock") || (is("mixed-locks") && me)) status = fcntl(fd, F_SETLKW, &range);
    if (is("mixed-locks") && !me) status = flock(fd, how == F_UNLCK ? LOCK_UN : LOCK_EX);
    if (is("lock-of-half")) range.l_len = BYTES, status = fcntl(fd, F_SETLKW, &range);
    if (is("ofd-lock")) status = fcntl(fd, F_OFD_SETLKW, &range);
    if (status || lock_from(fd, how)) MPI_Abort(WORLD, 3);
}

/* Truncates the file instead of writing; process 0 does not, but in kinds of both. */
static bool truncates(int fd, int guard) {
    int status = 0;
    if (!strstr(kind, "truncate") || (!me && !strstr(kind, "-by-both"))) return false;
    if (is("truncate")) status = truncate(path_of_all, 1);
    if (is("truncate-by-open")) status = close(open(path_of_all, O_WRONLY | O_TRUNC));
    if (is("truncate-by-creat")) status = close(creat(path_of_all, 0666));
    if (!strncmp(kind, "ftruncate", 9)) status = ftruncate(fd, 0);
    if (status || pwrite(guard, "x", 1, me) != 1) MPI_Abort(WORLD, 7);
    return true;
}

static void put(int fd, int guard) {
    lock(fd, guard, F_WRLCK);
    if (!truncates(fd, guard) && (pwrite(fd, "x", 1, 0) != 1 || pwrite(fd, kind, 1, BYTES) != 1))
        MPI_Abort(WORLD, 1);
    lock(fd, guard, F_UNLCK);
}

/* Requests that are never complete, and communicators of other kinds. */
static void prepare(const char *path) {
    int lengths[] = {3}, around_it[] = {1};
    MPI_Comm half;
    snprintf(flag, sizeof flag, "%s.flag", path);
    snprintf(moved, sizeof moved, "%s.moved", path);
    snprintf(own, sizeof own, "%s.own-%d", path, is("opened") ? 0 : me);
    if (!me && (strstr(kind, "-by-") && strcmp(kind, "lock-by-file"))) make(moved);
    CHECK(MPI_Comm_split(WORLD, me > 0, me, &half));
    CHECK(MPI_Intercomm_create(half, 0, WORLD, me ? 0 : 1, 9, &between));
    CHECK(MPI_Cart_create(WORLD, 1, lengths, around_it, 0, &grid));
    CHECK(MPI_Win_allocate(1, 1, MPI_INFO_NULL, WORLD, &shared, &window));
    *shared = 0;
    late = half;
    if (is("cancelled") && me == 1) {
        CHECK(MPI_Irecv(all, 1, MPI_BYTE, 0, 77, WORLD, &request));
        CHECK(MPI_Cancel(&request));
        CHECK(MPI_Wait(&request, ANY));
    }
}

static void pass_on(void) {
    if (is("chain")) {
        take(0, 1, WORLD);
        give(1, 1, WORLD);
    }
    if (is("sent-between")) {
        take(0, 1, between);
        give(1, 1, WORLD);
    }
    if (is("early-ibarrier")) {
        CHECK(MPI_Ibarrier(WORLD, &request));
        CHECK(MPI_Wait(&request, ANY));
    }
}

static void run(int fd, int guard) {
    if (me == 0) {
        before();
        put(fd, guard);
        after();
    } else if (me == 1) {
        arrive();
    } else {
        pass_on();
    }
    collective();
    if (me == 1) {
        put(fd, guard);
        leave();
    }
}

static void run_kind(const char *folder) {
    char name[4096], lock_name[4200];
    snprintf(name, sizeof name, "%s/%s/f", folder, kind);
    snprintf(lock_name, sizeof lock_name, "%s.lock", name);
    path_of_all = name;
    token = 'a';
    memset(all, 0, sizeof all);
    prepare(name);
    int fd = open(name, O_RDWR | O_CREAT, 0666), guard = open(lock_name, O_RDWR | O_CREAT, 0666);
    if (ftruncate(fd, SIZE)) MPI_Abort(WORLD, 6);
    CHECK(MPI_Comm_dup(WORLD, &other));
    CHECK(MPI_Comm_split(WORLD, me < 2 ? 0 : 1, me, &pair));
    CHECK(MPI_Barrier(WORLD));
    run(fd, guard);
    CHECK(MPI_Barrier(WORLD));
    if (opened != MPI_FILE_NULL) CHECK(MPI_File_close(&opened));
    close(fd);
    close(guard);
    CHECK(MPI_Win_free(&window));
    MPI_Comm *made[] = {&between, &grid, &late, &pair, &other};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) CHECK(MPI_Comm_free(made[i]));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    if (argc < 3) MPI_Abort(WORLD, 2);
    for (int i = 2; i < argc; i++) {
        kind = argv[i];
        run_kind(argv[1]);
    }
    MPI_Finalize();
    return 0;
}
