/* SPDX-License-Identifier: BSD-3-Clause */
/* Order by collective calls, windows, files, pipes, child processes and threads: mpi_kinds.h. */
#include "mpi_kinds.h"

/* ---- collective calls */

static void to_neighbor(bool later) { /* of a graph with an edge from 0 to 1 */
    int to = 1, from = 0, out = me == 0, in = me == 1;
    MPI_Comm graph;
    MUST(MPI_Dist_graph_create_adjacent(WORLD, in, &from, MPI_UNWEIGHTED, out, &to, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &graph));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) put();
    if (later) {
        MUST(MPI_Ineighbor_allgather(ONE(&byte), ONE(some), graph, request));
        wait_for(request);
    } else {
        MUST(MPI_Neighbor_alltoall(ONE(&byte), ONE(some), graph));
    }
    if (me == 1) put();
    let_go(&graph);
}
static void neighbors(void) { to_neighbor(false); }
static void neighbors_later(void) { to_neighbor(true); }
static void reduced_later(void) {
    if (me == 0) put();
    MUST(MPI_Iallreduce(&byte, some, 1, MPI_BYTE, MPI_BOR, WORLD, request));
    wait_for(request);
    if (me == 1) put();
}
static void reduced_too_early(void) {
    MUST(MPI_Iallreduce(&byte, some, 1, MPI_BYTE, MPI_BOR, WORLD, request));
    if (me == 0) put();
    wait_for(request);
    if (me == 1) put();
}
static void gathered_by_counts(void) {
    int counts[] = {1, 1, 1}, at[] = {0, 1, 2};
    if (me == 0) put();
    MUST(MPI_Gatherv(ONE(&byte), some, counts, at, MPI_BYTE, 1, WORLD));
    if (me == 1) put();
}
static void gathered_in_place(void) {
    some[me] = 'a';
    if (me == 0) put();
    MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ONE(some), WORLD));
    if (me == 1) put();
}
static void summed_before(void) { /* process 1 hears from 0, not 0 from 1 */
    if (me == 0) put();
    MUST(MPI_Exscan(&byte, some, 1, MPI_BYTE, MPI_BOR, WORLD));
    if (me == 1) put();
}

/* ---- one-sided */

static volatile char *window_of(MPI_Win *window) {
    char *memory;
    MUST(MPI_Win_allocate(1, 1, MPI_INFO_NULL, WORLD, &memory, window));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, *window));
    *memory = 0;
    MUST(MPI_Win_unlock(me, *window));
    MUST(MPI_Barrier(WORLD));
    return memory;
}
static void flush_all(void) {
    MPI_Win window;
    window_of(&window);
    MUST(MPI_Win_lock_all(0, window));
    if (me == 0) {
        put();
        MUST(MPI_Accumulate(ONE(&byte), 1, 0, 1, MPI_BYTE, MPI_REPLACE, window));
        usleep(100000); /* the other may see it before the flush */
        MUST(MPI_Win_flush_all(window));
    }
    for (*some = 0; me == 1 && *some != 'a';) {
        MUST(MPI_Fetch_and_op(&byte, some, MPI_BYTE, 1, 0, MPI_NO_OP, window));
        MUST(MPI_Win_flush(1, window));
    }
    if (me == 1) put();
    MUST(MPI_Win_unlock_all(window));
    MUST(MPI_Win_free(&window));
}
static void exposed(bool right) {
    MPI_Win window;
    MPI_Group world, other;
    int rank = !me;
    window_of(&window);
    MUST(MPI_Comm_group(WORLD, &world));
    MUST(MPI_Group_incl(world, 1, &rank, &other));
    if (me == 0 && right) put();
    if (me == 0) {
        MUST(MPI_Win_start(other, 0, window));
        MUST(MPI_Put(ONE(&byte), 1, 0, 1, MPI_BYTE, window));
        MUST(MPI_Win_complete(window));
    }
    if (me == 1) MUST(MPI_Win_post(other, 0, window)), MUST(MPI_Win_wait(window));
    if (me == 0 && !right) put();
    if (me == 1) put();
    MUST(MPI_Barrier(WORLD));
    MUST(MPI_Group_free(&other));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Win_free(&window));
}
static void pscw(void) { exposed(true); }
static void pscw_early(void) { exposed(false); }
static void shared_window(void) {
    MPI_Win window;
    MPI_Aint bytes;
    int unit;
    char *mine, *flag;
    MUST(MPI_Win_allocate_shared(me == 0, 1, MPI_INFO_NULL, WORLD, &mine, &window));
    MUST(MPI_Win_shared_query(window, 0, &bytes, &unit, &flag));
    if (me == 0) *flag = 0;
    MUST(MPI_Win_lock_all(0, window));
    MUST(MPI_Barrier(WORLD));
    if (me == 0) {
        put();
        MUST(MPI_Win_sync(window));
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    }
    while (me == 1 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE)) continue;
    if (me == 1) MUST(MPI_Win_sync(window)), put();
    MUST(MPI_Win_unlock_all(window));
    MUST(MPI_Win_free(&window));
}

/* ---- MPI-IO: of processes 0 and 1, who opened the file without 2 */

static void synced(bool first, bool second) {
    MPI_Comm pair = of(me == 2, me);
    MPI_File f = MPI_FILE_NULL;
    char name[4200];
    snprintf(name, sizeof name, "%s.mpi", path);
    if (me < 2) {
        MUST(MPI_File_open(pair, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
        MUST(MPI_Barrier(pair));
        if (me == 0) MUST(MPI_File_write_at(f, 0, ONE(&byte), ANY));
        if (first) MUST(MPI_File_sync(f));
        MUST(MPI_Barrier(pair));
        if (second) MUST(MPI_File_sync(f));
        if (me == 1) MUST(MPI_File_write_at(f, 0, ONE(&byte), ANY));
        MUST(MPI_Barrier(pair));
        MUST(MPI_File_close(&f));
    }
    let_go(&pair);
}
static void sync_barrier_sync(void) { synced(true, true); }
static void sync_barrier(void) { synced(true, false); }
static void barrier_sync(void) { synced(false, true); }

/* ---- files, pipes, forks and threads */

static int with(const char *end, int flags) {
    char name[4200];
    snprintf(name, sizeof name, "%s.%s", path, end);
    int fd = open(name, flags, 0666);
    MUST(fd < 0);
    return fd;
}

static int token;
static void locked(int fd, short how) {
    struct flock range = {.l_type = how, .l_whence = SEEK_SET, .l_len = 1};
    MUST(fcntl(fd, F_SETLKW, &range));
}
static void write_token(void) {
    locked(token, F_WRLCK);
    MUST(pwrite(token, "t", 1, 0) != 1);
    locked(token, F_UNLCK);
}
static void await_token(void) {
    for (char seen = 0; seen != 't';) {
        locked(token, F_RDLCK);
        MUST(pread(token, &seen, 1, 0) < 0);
        locked(token, F_UNLCK);
    }
}
static void token_file(void) {
    token = with("token", O_RDWR | O_CREAT);
    if (me == 0) put(), write_token();
    if (me == 1) await_token(), put();
}
static void token_file_early(void) {
    token = with("token", O_RDWR | O_CREAT);
    if (me == 0) write_token(), put();
    if (me == 1) await_token(), put();
}
static void fifo(bool right) {
    char name[4200];
    int fd;
    snprintf(name, sizeof name, "%s.fifo", path);
    if (me == 0) MUST(mkfifo(name, 0666));
    MUST(MPI_Barrier(WORLD));
    if (me < 2) fd = with("fifo", me ? O_RDONLY : O_WRONLY);
    MUST(MPI_Barrier(WORLD));
    if (me == 0 && right) put();
    if (me == 0) MUST(write(fd, "t", 1) != 1);
    if (me == 0 && !right) put();
    if (me == 1) MUST(read(fd, some, 1) != 1), put();
    if (me < 2) close(fd);
}
static void by_fifo(void) { fifo(true); }
static void by_fifo_early(void) { fifo(false); }
static void forked(void) { /* a child writes, and ends before the message */
    if (me == 0) {
        pid_t child = fork();
        if (!child) {
            put();
            _exit(0);
        }
        MUST(waitpid(child, NULL, 0) != child);
        give(1);
    }
    if (me == 1) take(0), put();
}
static void forked_late(void) { /* it writes after the message */
    int go[2];
    if (me == 0) {
        MUST(pipe(go));
        pid_t child = fork();
        if (!child) {
            MUST(read(go[0], some, 1) != 1);
            put();
            _exit(0);
        }
        give(1);
        MUST(write(go[1], "g", 1) != 1);
        MUST(waitpid(child, NULL, 0) != child);
    }
    if (me == 1) take(0), put();
}
static void start_dd(void) {
    char words[sizeof path + 80];
    snprintf(words, sizeof words, "dd if=/dev/zero of=%s bs=1 count=1 conv=notrunc status=none", path);
    MUST(system(words));
}
static void started(void) { /* a program writes what its process wrote */
    if (me == 1) put(), start_dd(), put();
}
static void started_late(void) { /* what another process writes */
    if (me == 1) start_dd();
    if (me == 2) put();
}
static void *putting(void *unused) {
    put();
    return unused;
}
static void *taking(void *unused) {
    take(0);
    return unused;
}
static void in_a_thread(void *work(void *)) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, NULL));
    MUST(pthread_join(thread, NULL));
}
static void threads(void) {
    if (me == 0) in_a_thread(putting), give(1);
    if (me == 1) in_a_thread(taking), put();
}
static void threads_early(void) {
    if (me == 0) give(1), in_a_thread(putting);
    if (me == 1) in_a_thread(taking), put();
}

static const kind kinds[] = {
    KIND(neighbors),
    KIND(neighbors_later),
    KIND(reduced_later),
    KIND(reduced_too_early),
    KIND(gathered_by_counts),
    KIND(gathered_in_place),
    KIND(summed_before),
    KIND(flush_all),
    KIND(pscw),
    KIND(pscw_early),
    KIND(shared_window),
    KIND(sync_barrier_sync),
    KIND(sync_barrier),
    KIND(barrier_sync),
    KIND(token_file),
    KIND(token_file_early),
    KIND(by_fifo),
    KIND(by_fifo_early),
    KIND(forked),
    KIND(forked_late),
    KIND(started),
    KIND(started_late),
    KIND(threads),
    KIND(threads_early),
};

int main(int argc, char **argv) { return run_kinds(argc, argv, kinds, sizeof kinds / sizeof *kinds); }
