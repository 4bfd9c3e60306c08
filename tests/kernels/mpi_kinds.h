/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes 0 and 1 of three write the same bytes, in an order or not: for test_recorder_order.py. A program
 * has the kinds of order as functions, in KINDS. Each has the file FOLDER/KIND/f, and the next one begins
 * when all processes ended it.
 *
 *     PROGRAM FOLDER KIND... */
#ifndef MPI_KINDS_H
#define MPI_KINDS_H

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(CALL) must((CALL), #CALL)
#define WORLD MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE
#define ONE(BUFFER) (BUFFER), 1, MPI_BYTE

static int me, data;
static char byte = 'a', some[3], path[4096];
static MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

static void must(int code, const char *call) {
    if (!code) return;
    fprintf(stderr, "%s: %d\n", call, code);
    MPI_Abort(WORLD, 1);
}
static void put(void) { MUST(pwrite(data, "x", 1, 0) != 1); }
static void give(int to) { MUST(MPI_Send(ONE(&byte), to, 1, WORLD)); }
static void take(int from) { MUST(MPI_Recv(ONE(&byte), from, 1, WORLD, ANY)); }
static void wait_for(MPI_Request *r) { MUST(MPI_Wait(r, ANY)); }

static MPI_Comm of(int color, int key) {
    MPI_Comm made;
    MUST(MPI_Comm_split(WORLD, color, key, &made));
    return made;
}
static void let_go(MPI_Comm *comm) {
    if (*comm != MPI_COMM_NULL) MUST(MPI_Comm_free(comm));
}

typedef struct {
    const char *name;
    void (*run)(void);
} kind;
#define KIND(NAME) {#NAME, NAME}

static void run_kind(const kind *one, const char *folder) {
    snprintf(path, sizeof path, "%s/%s/f", folder, one->name);
    data = open(path, O_RDWR | O_CREAT, 0666);
    MUST(data < 0);
    MUST(MPI_Barrier(WORLD));
    one->run();
    MUST(MPI_Barrier(WORLD));
    MUST(close(data));
}

static int run_kinds(int argc, char **argv, const kind *kinds, int n) {
    int given, known = 0;
    MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given));
    MUST(MPI_Comm_rank(WORLD, &me));
    for (int at = 2; at < argc; at++)
        for (int i = 0; i < n; i++)
            if (!strcmp(argv[at], kinds[i].name)) known++, run_kind(kinds + i, argv[1]);
    MUST(argc < 3 || known != argc - 2);
    MPI_Finalize();
    return 0;
}

#endif
