/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/nodes.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver/waiting.h"

#define ADDRESSES 8
#define SILENT 3 /* weight of a silent node: the same as one whose processes are stopped */

/* A datagram. All nodes of a job have the same byte order. */
typedef struct {
    uint64_t job; /* datagrams of other jobs are dropped */
    double idle;
    int32_t node, weight;
    int32_t left, reported; /* its last datagram; it has reported why the job ends */
    char host[IO_HOST_NAME], line[1024];
} message;

/* Where the first node listens. */
typedef struct {
    uint64_t job;
    uint32_t addresses[ADDRESSES];
    int32_t n;
    uint16_t port; /* 0: none */
} place;

struct io_nodes {
    int fd, n, mine;
    place first;
    message own;
    message *last;             /* per node; only the first node knows nodes other than itself and the first */
    double *heard;             /* time of arrival; 0: never */
    struct sockaddr_in *where; /* sender */
};

/* Addresses at which other nodes may reach this one, including loopback if all nodes are one machine. */
static void find_addresses(place *first) {
    struct ifaddrs *all;
    if (getifaddrs(&all)) return;
    for (int loopback = 0; loopback < 2; loopback++)
        for (struct ifaddrs *a = all; a && first->n < ADDRESSES; a = a->ifa_next) {
            struct sockaddr_in in;
            if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP)) continue;
            if (!!(a->ifa_flags & IFF_LOOPBACK) != loopback) continue;
            memcpy(&in, a->ifa_addr, sizeof in);
            first->addresses[first->n++] = in.sin_addr.s_addr;
        }
    freeifaddrs(all);
}

static int open_socket(place *first, bool listens) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof in;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !listens) return fd;
    find_addresses(first);
    if (!first->n || getrandom(&first->job, sizeof first->job, 0) != sizeof first->job ||
        bind(fd, (struct sockaddr *)&in, length) || getsockname(fd, (struct sockaddr *)&in, &length))
        return fd;
    first->port = in.sin_port;
    return fd;
}

static void release(io_nodes *n) {
    if (!n) return;
    if (n->fd >= 0) close(n->fd);
    free(n->last);
    free(n->heard);
    free(n->where);
    free(n);
}

static io_nodes *among(const io_world *world, MPI_Comm leaders) {
    io_nodes *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    IO_MPI(world, MPI_Comm_rank, leaders, &n->mine);
    IO_MPI(world, MPI_Comm_size, leaders, &n->n);
    n->last = calloc((size_t)n->n, sizeof *n->last);
    n->heard = calloc((size_t)n->n, sizeof *n->heard);
    n->where = calloc((size_t)n->n, sizeof *n->where);
    n->fd = open_socket(&n->first, n->mine == 0);
    if (n->last && n->heard && n->where) return n;
    release(n);
    return NULL;
}

/* Lost datagrams are repeated soon. */
static void send_to(const io_nodes *n, struct sockaddr_in to) {
    if (sendto(n->fd, &n->own, sizeof n->own, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to) < 0) return;
}

/* The first node answers every node; the others use its answers. */
static void listen_to(io_nodes *n) {
    message got;
    struct sockaddr_in from;
    for (socklen_t length = sizeof from;
         recvfrom(n->fd, &got, sizeof got, 0, (struct sockaddr *)&from, &length) == (ssize_t)sizeof got;
         length = sizeof from) {
        if (got.job != n->first.job || got.node < 0 || got.node >= n->n || got.node == n->mine) continue;
        got.line[sizeof got.line - 1] = got.host[sizeof got.host - 1] = '\0';
        n->last[got.node] = got;
        n->heard[got.node] = io_monotonic_seconds();
        n->where[got.node] = from;
        if (n->mine == 0) send_to(n, from);
    }
}

void io_nodes_update(io_nodes *n, double idle, int weight, const char *line) {
    n->own.idle = idle;
    n->own.weight = weight;
    snprintf(n->own.line, sizeof n->own.line, "%s", line);
    for (int i = 0; n->mine && i < n->first.n; i++)
        send_to(n, (struct sockaddr_in){.sin_family = AF_INET,
                                        .sin_port = n->first.port,
                                        .sin_addr.s_addr = n->first.addresses[i]});
    listen_to(n);
}

/* Ensures that all nodes have heard from each other before anything can fail. A node that was never heard is
 * not considered missing. */
static void greet(const io_world *world, io_nodes *n, MPI_Comm leaders) {
    io_nodes_update(n, 0, 0, "");
    IO_MPI(world, MPI_Barrier, leaders);
    listen_to(n);
    IO_MPI(world, MPI_Barrier, leaders);
    listen_to(n);
}

io_nodes *io_nodes_start(const io_world *world) {
    int count, able;
    MPI_Comm leaders = io_node_leaders(world);
    if (leaders == MPI_COMM_NULL) return NULL;
    IO_MPI(world, MPI_Comm_size, leaders, &count);
    io_nodes *n = count > 1 ? among(world, leaders) : NULL;
    place first = n ? n->first : (place){0};
    IO_MPI(world, MPI_Bcast, &first, (int)sizeof first, MPI_BYTE, 0, leaders);
    able = n && n->fd >= 0 && first.port;
    IO_MPI(world, MPI_Allreduce, MPI_IN_PLACE, &able, 1, MPI_INT, MPI_MIN, leaders);
    if (able) {
        n->first = first;
        n->own = (message){.job = first.job, .node = n->mine};
        gethostname(n->own.host, sizeof n->own.host - 1);
        greet(world, n, leaders);
    } else {
        release(n);
        n = NULL;
    }
    IO_MPI(world, MPI_Comm_free, &leaders);
    return n;
}

/* A node is silent if all of its processes are stopped, or if it is down. */
static bool is_silent(const io_nodes *n, int node, double patience) {
    return n->heard[node] > 0 && !n->last[node].left && io_monotonic_seconds() - n->heard[node] >= patience;
}

bool io_nodes_are_idle(io_nodes *n, double patience, char *line, size_t size) {
    int most = n->own.weight;
    listen_to(n);
    for (int i = 0; i < n->n; i++) {
        const message *m = &n->last[i];
        bool silent = i != n->mine && is_silent(n, i, patience);
        if (i == n->mine || (n->mine && i)) continue; /* only the first one knows the others */
        if (n->heard[i] <= 0 || (!silent && !m->left && (n->mine || m->idle < patience))) return false;
        if (silent && most < SILENT)
            snprintf(line, size,
                     "all processes on %s are stopped, or the node is down: no message from it for %g s, "
                     "and no progress on the other nodes (--patience)",
                     m->host, patience);
        else if (!silent && !m->left && m->weight > most)
            snprintf(line, size, "%s", m->line);
        else
            continue;
        most = silent ? SILENT : m->weight;
    }
    return true;
}

void io_nodes_set_reported(io_nodes *n) {
    n->own.reported = 1;
    for (int i = 0; i < n->n; i++)
        if (n->heard[i] > 0) send_to(n, n->where[i]);
}

bool io_nodes_reported(const io_nodes *n) {
    for (int i = 0; i < n->n; i++)
        if (n->last[i].reported) return true;
    return false;
}

void io_nodes_stop(io_nodes *n) {
    if (!n) return;
    n->own.left = 1;
    io_nodes_update(n, n->own.idle, 0, "");
    release(n);
}
