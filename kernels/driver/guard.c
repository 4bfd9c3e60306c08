/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver/nodes.h"
#include "driver/standstill.h"
#include "driver/waiting.h"

#define LOOKS 8 /* checks per patience, but at least one a second */
#define SECONDS_TO_REMOVE 30
#define SECONDS_TO_BE_ENDED 5
#define SECONDS_TO_BE_HEARD 1 /* the launcher drops what it has not yet forwarded when the job ends */

/* Memory shared by the processes of a node. */
typedef struct {
    _Atomic int said; /* one of them has begun to report */
    io_pulse of[];
} node;

struct io_guard {
    io_world *world;
    node *shared;
    io_nodes *nodes; /* NULL: this process does not report to other nodes */
    size_t bytes;
    int n, mine; /* processes on this node, and the index of this one */
    double patience, interval;
    int io, state,
        storage;     /* descriptors of /proc/self/io, /proc/self/stat, /proc/vmstat; negative if missing */
    uint64_t looked; /* bytes that the guard itself has read from /proc */
    uint64_t seen;   /* bytes of the process when the guard last went to sleep */
    uint64_t moved, moves, stored; /* last values: of the node, of this process, of storage */
    double still;                  /* seconds without progress */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

/* ---------------------------------------------------------------- what moves */

/* Reads a file of /proc. The guard does not count its own reading. */
static bool look(io_guard *g, int fd, char *text, size_t size) {
    ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
    if (n < 0) return false;
    g->looked += (uint64_t)n;
    text[n] = '\0';
    return true;
}

/* Sums the numbers after these names, each at the start of a line. */
static uint64_t sum_of(const char *text, const char *const *names) {
    uint64_t sum = 0;
    for (; *names; names++) {
        size_t length = strlen(*names);
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            if (!strncmp(line, *names, length)) sum += strtoull(line + length, NULL, 10);
    }
    return sum;
}

/* Bytes read and written by this process, also during a call. */
static uint64_t own_bytes(io_guard *g) {
    static const char *const names[] = {"rchar:", "wchar:", "read_bytes:", "write_bytes:", NULL};
    char text[1024];
    uint64_t before = g->looked; /* the system counts a read when it has ended */
    return look(g, g->io, text, sizeof text) ? sum_of(text, names) - before : 0;
}

/* A process that waits in the kernel for storage (a flush, a read) makes progress if the storage of the node
 * does. */
static bool storage_moves(io_guard *g) {
    static const char *const names[] = {"nr_written ", "pgpgin ", "pgpgout ", NULL};
    char text[16384];
    if (!look(g, g->state, text, sizeof text) || io_state_in(text) != 'D') return false;
    if (!look(g, g->storage, text, sizeof text)) return false;
    uint64_t now = sum_of(text, names), before = g->stored;
    g->stored = now;
    return now != before;
}

static void note_time(io_pulse *p) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    p->since = (double)now.tv_sec;
}

/* Publishes the progress of this process for the others. */
static void show(io_guard *g) {
    io_pulse *me = &g->shared->of[g->mine];
    const io_error *error = &g->world->error;
    uint64_t bytes = me->bytes + own_bytes(g) - g->seen, moves = me->moves;
    bool storage = storage_moves(g);
    if (storage) atomic_fetch_add(&me->moves, 1);
    if (bytes != me->bytes || moves != g->moves || storage) note_time(me);
    me->bytes = bytes;
    g->moves = moves;
    if (!error->set) return;
    memcpy(me->message, error->text, sizeof me->message);
    me->message[sizeof me->message - 1] = '\0';
    me->failed = true;
}

static uint64_t all_moves(const io_guard *g) {
    uint64_t sum = 0;
    for (int i = 0; i < g->n; i++) sum += g->shared->of[i].moves + g->shared->of[i].bytes;
    return sum;
}

/* ---------------------------------------------------------------- the end */

static void signal_others(const io_guard *g, int number) {
    for (int i = 0; i < g->n; i++)
        if (i != g->mine && g->shared->of[i].pid > 0) kill(g->shared->of[i].pid, number);
}

static void end_here(const io_guard *g) {
    signal_others(g, SIGKILL);
    _exit(EXIT_FAILURE);
}

/* Removing files may hang on the same storage: the job ends anyway. */
static void *end_anyway(void *data) {
    sleep(SECONDS_TO_REMOVE);
    end_here(data);
    return NULL;
}

/* On several nodes, a node that hangs may only be waiting for slow work on another one. So end the job only
 * if the cause is on this node, or if the others make no progress either. `line`: about a process of another
 * node, if that is the likelier cause. */
static bool to_be_ended(const io_guard *g, char *line, size_t size) {
    if (g->world->job_nodes == 1) return true;
    for (int i = 0; i < g->n; i++)
        if (io_is_cause(&g->shared->of[i])) return true;
    return g->nodes && io_nodes_are_still(g->nodes, g->patience, line, size);
}

/* Reports the state of this node to the others. */
static void tell_nodes(const io_guard *g) {
    char line[IO_MAX_PATH + 4096] = "";
    int which = io_find_still(g->shared->of, g->n);
    if (g->still >= g->patience) io_say_still(g->shared->of, g->n, which, g->patience, line, sizeof line);
    io_nodes_tell(g->nodes, g->still, io_blame(&g->shared->of[which]), line);
}

/* Ends the job by killing one process, `which` if it is not this one: launchers handle that. Open MPI's
 * launcher has hung when two died. */
static void end_by_one(const io_guard *g, int which) {
    int one = which != g->mine ? which : (which + 1) % g->n;
    if (one != g->mine && g->shared->of[one].pid > 0 && !kill(g->shared->of[one].pid, SIGKILL))
        sleep(SECONDS_TO_BE_ENDED);
    end_here(g);
}

/* Stops the other processes of the node before removing files, so that none creates new ones, and so that the
 * launcher does not end this process too early. If one has made progress meanwhile, all continue. */
static bool end_job(io_guard *g, const char *elsewhere) {
    char line[IO_MAX_PATH + 4096];
    int which = io_find_still(g->shared->of, g->n);
    io_say_still(g->shared->of, g->n, which, g->patience, line, sizeof line);
    if (*elsewhere) snprintf(line, sizeof line, "%s", elsewhere);
    signal_others(g, SIGSTOP);
    if (all_moves(g) != g->moved) {
        signal_others(g, SIGCONT);
        g->shared->said = 0;
        return false;
    }
    pthread_t ender;
    pthread_create(&ender, NULL, end_anyway, g);
    char message[sizeof line + 32];
    int n = snprintf(message, sizeof message, "iokernel: error: %s\n", line);
    bool said = g->nodes && io_nodes_said(g->nodes);
    if (n > 0 && !said && write(STDERR_FILENO, message, (size_t)n) < 0) g->stop = true; /* stderr is closed */
    if (g->nodes) io_nodes_have_said(g->nodes);
    if (g->world->abandon) g->world->abandon(g->world->abandon_data, line, IO_ENDS_HUNG);
    sleep(SECONDS_TO_BE_HEARD);
    end_by_one(g, which);
    return true;
}

/* A process of the node has crashed and waits in its handler. The first guard that knows the run removes the
 * files of all, while the others are stopped. */
static bool clean_up(io_guard *g) {
    char line[IO_MAX_PATH + 512], host[IO_HOST_NAME] = "?";
    int which = 0, nobody = 0;
    while (which < g->n && !g->shared->of[which].crashed) which++;
    if (which == g->n) return false;
    io_pulse *p = &g->shared->of[which];
    if (!g->world->abandon || !atomic_compare_exchange_strong(&g->shared->said, &nobody, 1)) return true;
    for (int i = 0; i < g->n; i++) g->shared->of[i].cleaning = true;
    signal_others(g, SIGSTOP);
    gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "process %d on %s: the library crashed in phase %s of method %s: %s", p->rank,
             host, p->phase, p->method, p->path);
    g->world->abandon(g->world->abandon_data, line, IO_ENDS_CRASHED);
    if (g->n > 1) end_by_one(g, which);
    p->cleaned = true;
    return true;
}

/* The process that can write the document comes first: the first of the node, with a run in progress. */
static double turn(const io_guard *g) {
    return g->patience + (g->mine ? 2 * g->interval : 0) + (g->world->abandon ? 0 : 4 * g->interval);
}

/* Only time while the guard was awake counts: a suspended job has not hung. */
static void look_after(io_guard *g, double slept) {
    if (clean_up(g)) return;
    show(g);
    uint64_t moved = all_moves(g);
    g->still = moved == g->moved ? g->still + (slept < 2 * g->interval ? slept : 2 * g->interval) : 0;
    g->moved = moved;
    if (g->nodes) tell_nodes(g);
    if (g->still < turn(g)) return;
    char line[IO_MAX_PATH + 4096] = "";
    int nobody = 0;
    if (!to_be_ended(g, line, sizeof line)) return;
    if (!atomic_compare_exchange_strong(&g->shared->said, &nobody, 1) || !end_job(g, line)) g->still = 0;
}

static void *watch(void *data) {
    io_guard *g = data;
    pthread_mutex_lock(&g->lock);
    for (double before = io_monotonic_seconds(); !g->stop;) {
        io_wait_seconds(&g->wake, &g->lock, g->interval);
        double after = io_monotonic_seconds();
        if (!g->stop) look_after(g, after - before);
        g->seen = own_bytes(g); /* the reads of the guard are not progress */
        before = after;
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---------------------------------------------------------------- the beginning */

/* In containers the same pid may be another process: check that this is the right memory. */
static int open_shared(const char *name, size_t bytes) {
    static const char expected[] = "/memfd:iokernel";
    char link[64];
    struct stat st;
    ssize_t n = readlink(name, link, sizeof link);
    if (n < (ssize_t)sizeof expected - 1 || memcmp(link, expected, sizeof expected - 1) != 0) return -1;
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0 || (!fstat(fd, &st) && (size_t)st.st_size == bytes)) return fd;
    close(fd);
    return -1;
}

/* Shared memory for a node. It has no name, so nothing can be left behind: the other processes open the
 * descriptor of the first one. */
static node *share(MPI_Comm comm, size_t bytes) {
    int rank, fd = -1, there[2] = {-1, -1};
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        fd = memfd_create("iokernel", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)bytes)) fd = (close(fd), -1);
        there[0] = (int)getpid();
        there[1] = fd;
    }
    MPI_Bcast(there, 2, MPI_INT, 0, comm);
    if (rank && there[1] >= 0) {
        char name[64];
        snprintf(name, sizeof name, "/proc/%d/fd/%d", there[0], there[1]);
        fd = open_shared(name, bytes);
    }
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MPI_Barrier(comm);
    if (fd >= 0) close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void release(io_guard *g) {
    io_nodes_stop(g->nodes);
    if (g->shared) munmap(g->shared, g->bytes);
    if (g->io >= 0) close(g->io);
    if (g->state >= 0) close(g->state);
    if (g->storage >= 0) close(g->storage);
    free(g);
}

static io_guard *prepare(io_world *world, double patience, MPI_Comm comm) {
    io_guard *g = calloc(1, sizeof *g);
    int n, mine;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &mine);
    size_t bytes = sizeof(node) + (size_t)n * sizeof(io_pulse);
    node *shared = share(comm, bytes);
    int able = g && shared;
    if (able) {
        *g = (io_guard){.world = world, .shared = shared, .bytes = bytes, .n = n, .mine = mine};
        g->patience = patience;
        g->interval = patience < LOOKS ? patience / LOOKS : 1;
        g->io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
        g->state = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        g->storage = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
        shared->of[mine].pid = (int)getpid();
        shared->of[mine].rank = world->rank;
        note_time(&shared->of[mine]);
        g->seen = own_bytes(g);
        if (!g->seen) able = 0; /* progress that cannot be seen is possible */
    }
    MPI_Allreduce(MPI_IN_PLACE, &able, 1, MPI_INT, MPI_MIN, comm);
    if (able) return g;
    if (g && shared)
        release(g);
    else
        free(g);
    return NULL;
}

/* Signals are for the program and its libraries. */
static bool start_thread(io_guard *g) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&g->thread, NULL, watch, g);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

io_guard *io_guard_start(io_world *world, double patience) {
    MPI_Comm comm;
    if (patience <= 0 ||
        MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &comm))
        return NULL;
    io_nodes *nodes = io_nodes_start(world->comm, comm);
    io_guard *g = prepare(world, patience, comm);
    MPI_Comm_free(&comm);
    if (!g) {
        io_nodes_stop(nodes);
        return NULL;
    }
    g->nodes = nodes;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->wake, NULL);
    world->pulse = &g->shared->of[g->mine];
    if (start_thread(g)) return g;
    g->shared->said = 1; /* the progress of this process is not visible: end nothing */
    world->pulse = NULL;
    release(g);
    return NULL;
}

void io_guard_stop(io_guard *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_signal(&g->wake);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    g->world->pulse->pid = 0; /* the pid may be reused */
    g->world->pulse = NULL;
    release(g);
}
