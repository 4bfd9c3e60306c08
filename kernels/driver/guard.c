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

#define CHECKS 8         /* checks per --patience, but at least one per second */
#define STORAGE_ALONE 30 /* times --patience that the node's storage may count as progress of a process */
#define SECONDS_TO_REMOVE 30
#define SECONDS_TO_BE_ENDED 5

/* Memory shared by the processes of a node. */
typedef struct {
    _Atomic int reporting; /* a process has begun to report */
    io_pulse of[];
} node;

struct io_guard {
    io_world *world;
    node *shared;
    io_nodes *nodes; /* NULL if this process does not report to other nodes */
    size_t bytes;
    int n, mine; /* number of processes on this node, and the index of this one */
    double patience, interval;
    int io, state,
        storage; /* descriptors of /proc/self/io, /proc/self/stat, /proc/vmstat; negative if missing */
    uint64_t proc_bytes;           /* bytes that the guard itself has read from /proc */
    uint64_t seen;                 /* I/O bytes of the process when the guard last went to sleep */
    uint64_t moved, moves, stored; /* previous counters: of the node, this process, storage */
    double idle;                   /* seconds without progress */
    double alone;                  /* seconds without progress of this process, whatever the storage did */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

/* ---------------------------------------------------------------- progress */

/* Reads a file in /proc. The guard's own reads are not counted as progress. */
static bool read_proc(io_guard *g, int fd, char *text, size_t size) {
    ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
    if (n < 0) return false;
    g->proc_bytes += (uint64_t)n;
    text[n] = '\0';
    return true;
}

/* Sums the numbers that follow these names at the start of a line. */
static uint64_t sum_of(const char *text, const char *const *names) {
    uint64_t sum = 0;
    for (; *names; names++) {
        size_t length = strlen(*names);
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            if (!strncmp(line, *names, length)) sum += strtoull(line + length, NULL, 10);
    }
    return sum;
}

/* Bytes read and written by this process, including calls in progress. */
static uint64_t own_bytes(io_guard *g) {
    static const char *const names[] = {"rchar:", "wchar:", "read_bytes:", "write_bytes:", NULL};
    char text[1024];
    uint64_t before = g->proc_bytes; /* the kernel counts a read when it has ended */
    return read_proc(g, g->io, text, sizeof text) ? sum_of(text, names) - before : 0;
}

/* A process that waits in the kernel for storage (a flush, a read) makes progress if the node's storage
 * does. Others may use that, so it does not count for ever. */
static bool storage_moves(io_guard *g) {
    static const char *const names[] = {"nr_written ", "pgpgin ", "pgpgout ", NULL};
    char text[16384];
    if (!read_proc(g, g->state, text, sizeof text) || io_state_in(text) != 'D') return false;
    if (!read_proc(g, g->storage, text, sizeof text)) return false;
    uint64_t now = sum_of(text, names), before = g->stored;
    g->stored = now;
    return now != before;
}

static void note_time(io_pulse *p) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    p->since = (double)now.tv_sec;
}

/* Publishes the progress of this process. */
static void publish(io_guard *g) {
    io_pulse *me = &g->shared->of[g->mine];
    const io_error *error = &g->world->error;
    uint64_t bytes = me->bytes + own_bytes(g) - g->seen, moves = me->moves;
    bool own = bytes != me->bytes || moves != g->moves;
    g->alone = own ? 0 : g->alone + g->interval;
    bool storage = storage_moves(g) && g->alone < STORAGE_ALONE * g->patience;
    if (storage) atomic_fetch_add(&me->moves, 1);
    if (own || storage) note_time(me);
    me->bytes = bytes;
    g->moves = moves + storage;
    if (error->set) io_now_failed(me, error);
}

static uint64_t all_moves(const io_guard *g) {
    uint64_t sum = 0;
    for (int i = 0; i < g->n; i++) sum += g->shared->of[i].moves + g->shared->of[i].bytes;
    return sum;
}

/* ---------------------------------------------------------------- ending the job */

static void signal_others(const io_guard *g, int number) {
    for (int i = 0; i < g->n; i++)
        if (i != g->mine && g->shared->of[i].pid > 0) kill(g->shared->of[i].pid, number);
}

static void end_here(const io_guard *g) {
    signal_others(g, SIGKILL);
    _exit(EXIT_FAILURE);
}

/* Removing files may hang on the same storage: end the job anyway. */
static void *end_by_deadline(void *data) {
    sleep(SECONDS_TO_REMOVE);
    end_here(data);
    return NULL;
}

/* With several nodes, a node that hangs may only be waiting for slow work on another one. So end the job only
 * if the cause is on this node, or if no other node makes progress either. `line` describes a process of
 * another node, if that is the more likely cause. */
static bool should_end_job(const io_guard *g, char *line, size_t size) {
    if (g->world->job_nodes == 1) return true;
    for (int i = 0; i < g->n; i++)
        if (io_is_cause(&g->shared->of[i])) return true;
    return g->nodes && io_nodes_are_idle(g->nodes, g->patience, line, size);
}

/* Reports the state of this node to the others. */
static void report_to_nodes(const io_guard *g) {
    char line[IO_MAX_PATH + 4096] = "";
    int which = io_find_hung(g->shared->of, g->n);
    if (g->idle >= g->patience) io_describe_hang(g->shared->of, g->n, which, g->patience, line, sizeof line);
    io_nodes_update(g->nodes, g->idle, io_blame(&g->shared->of[which]), line);
}

/* Ends the job by killing one process, `which` or, if that is this one, a neighbor: launchers handle that.
 * Open MPI's launcher has hung when two died. */
static void end_by_one(const io_guard *g, int which) {
    int one = which != g->mine ? which : (which + 1) % g->n;
    if (one != g->mine && g->shared->of[one].pid > 0 && !kill(g->shared->of[one].pid, SIGKILL))
        sleep(SECONDS_TO_BE_ENDED);
    end_here(g);
}

/* Stops the other processes of the node before removing files, so that they create no new ones and the
 * launcher does not end this process too early. If one has made progress meanwhile, all continue. */
static bool end_job(io_guard *g, const char *elsewhere) {
    char line[IO_MAX_PATH + 4096];
    int which = io_find_hung(g->shared->of, g->n);
    io_describe_hang(g->shared->of, g->n, which, g->patience, line, sizeof line);
    if (*elsewhere) snprintf(line, sizeof line, "%s", elsewhere);
    signal_others(g, SIGSTOP);
    if (all_moves(g) != g->moved) {
        signal_others(g, SIGCONT);
        g->shared->reporting = 0;
        return false;
    }
    pthread_t ender;
    pthread_create(&ender, NULL, end_by_deadline, g);
    bool reported = g->nodes && io_nodes_reported(g->nodes);
    if (!reported && !io_print_error("%s", line)) g->stop = true; /* stderr is closed */
    if (g->nodes) io_nodes_set_reported(g->nodes);
    if (g->world->abandon) g->world->abandon(g->world->abandon_data, line, IO_ENDS_HUNG);
    io_wait_to_be_heard();
    end_by_one(g, which);
    return true;
}

/* A process of the node has crashed and waits in its handler. The first guard that knows the run removes the
 * files of all processes while the others are stopped. */
static bool clean_up(io_guard *g) {
    char line[IO_MAX_PATH + 512], host[IO_HOST_NAME] = "?";
    int which = 0, nobody = 0;
    while (which < g->n && !g->shared->of[which].crashed) which++;
    if (which == g->n) return false;
    io_pulse *p = &g->shared->of[which];
    if (!g->world->abandon || !atomic_compare_exchange_strong(&g->shared->reporting, &nobody, 1)) return true;
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

/* The first process of the node with a run in progress goes first, because it can write the document. */
static double patience_of(const io_guard *g) {
    return g->patience + (g->mine ? 2 * g->interval : 0) + (g->world->abandon ? 0 : 4 * g->interval);
}

/* Counts only time while the guard was awake: a suspended job has not hung. */
static void check_progress(io_guard *g, double slept) {
    if (clean_up(g)) return;
    publish(g);
    uint64_t moved = all_moves(g);
    g->idle = moved == g->moved ? g->idle + (slept < 2 * g->interval ? slept : 2 * g->interval) : 0;
    g->moved = moved;
    if (g->nodes) report_to_nodes(g);
    if (g->idle < patience_of(g)) return;
    char line[IO_MAX_PATH + 4096] = "";
    int nobody = 0;
    if (!should_end_job(g, line, sizeof line)) return;
    if (!atomic_compare_exchange_strong(&g->shared->reporting, &nobody, 1) || !end_job(g, line)) g->idle = 0;
}

static void *watch(void *data) {
    io_guard *g = data;
    pthread_mutex_lock(&g->lock);
    for (double before = io_monotonic_seconds(); !g->stop;) {
        io_wait_seconds(&g->wake, &g->lock, g->interval);
        double after = io_monotonic_seconds();
        if (!g->stop) check_progress(g, after - before);
        g->seen = own_bytes(g); /* the guard's own reads are not progress */
        before = after;
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---------------------------------------------------------------- starting */

/* In a container the pid may belong to another process: check that it is our memory. */
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

/* Shared memory for a node. It has no name, so it cannot be left behind: the other processes open the
 * descriptor of the first one. */
static node *share_memory(const io_world *world, size_t bytes) {
    int rank, fd = -1, there[2] = {-1, -1};
    IO_MPI(world, MPI_Comm_rank, world->node, &rank);
    if (rank == 0) {
        fd = memfd_create("iokernel", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)bytes)) fd = (close(fd), -1);
        there[0] = (int)getpid();
        there[1] = fd;
    }
    IO_MPI(world, MPI_Bcast, there, 2, MPI_INT, 0, world->node);
    if (rank && there[1] >= 0) {
        char name[64];
        snprintf(name, sizeof name, "/proc/%d/fd/%d", there[0], there[1]);
        fd = open_shared(name, bytes);
    }
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    IO_MPI(world, MPI_Barrier, world->node);
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

static io_guard *prepare(io_world *world, double patience) {
    io_guard *g = calloc(1, sizeof *g);
    int n, mine;
    IO_MPI(world, MPI_Comm_size, world->node, &n);
    IO_MPI(world, MPI_Comm_rank, world->node, &mine);
    size_t bytes = sizeof(node) + (size_t)n * sizeof(io_pulse);
    node *shared = share_memory(world, bytes);
    int able = g && shared;
    if (able) {
        *g = (io_guard){.world = world, .shared = shared, .bytes = bytes, .n = n, .mine = mine};
        g->patience = patience;
        g->interval = patience < CHECKS ? patience / CHECKS : 1;
        g->io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
        g->state = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        g->storage = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
        shared->of[mine].pid = (int)getpid();
        shared->of[mine].rank = world->rank;
        note_time(&shared->of[mine]);
        g->seen = own_bytes(g);
        if (!g->seen) able = 0; /* its progress could be invisible */
    }
    IO_MPI(world, MPI_Allreduce, MPI_IN_PLACE, &able, 1, MPI_INT, MPI_MIN, world->node);
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
    if (patience <= 0) return NULL;
    io_nodes *nodes = io_nodes_start(world);
    io_guard *g = prepare(world, patience);
    if (!g) {
        io_nodes_stop(nodes);
        return NULL;
    }
    g->nodes = nodes;
    pthread_mutex_init(&g->lock, NULL);
    io_wait_init(&g->wake);
    world->pulse = &g->shared->of[g->mine];
    if (start_thread(g)) return g;
    g->shared->reporting = 1; /* this process's progress is not visible: never end the job */
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
