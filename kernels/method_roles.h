/* SPDX-License-Identifier: BSD-3-Clause */
/* Optional parts of a method (method.h): options and I/O servers. */
#ifndef IOGAUGE_METHOD_ROLES_H
#define IOGAUGE_METHOD_ROLES_H

#include <jansson.h>

#include "base/option.h"
#include "method.h"

/* Looks up a method by name; -1 after io_fail_usage. */
typedef int io_method_lookup(const char *name, const io_method **method, io_error *error);

/* Options, like a pattern's. Two methods may share an option's name. The state is ctx->state. */
struct io_option_functions {
    const io_option *list; /* ends with an entry whose letter is 0 */
    size_t state_size;
    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Checks the options for a number of processes. `mine` is the run's copy of this method. A method that
     * uses another as its backend gets it from `find`, and copies its traits, extension and file queries. */
    int (*configure)(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error);
    json_t *(*describe)(const void *state);
    void (*release)(void *state); /* optional */
};

/* Statistics of the busiest server since the last drain. */
typedef struct {
    double busy, blocked; /* seconds: working; clients blocked by a full queue */
    uint64_t peak, limit; /* queue in bytes: peak, limit */
    uint64_t rss;         /* peak memory in bytes since the start */
} io_queue_use;

/* Servers: processes that run the method's code and never the driver or a pattern. ctx->comm holds the
 * processes of the same role, servers or clients. */
struct io_server_functions {
    uint64_t (*count)(const void *state);
    /* The method that servers write with, and the state of its options in `*own` unless `own` is NULL. The
     * driver also measures it directly, in mode independent. */
    const io_method *(*backend)(const void *state, void **own);
    /* Called first, by all processes of `all`. */
    int (*start)(const io_ctx *ctx, MPI_Comm all, bool serving);
    /* Runs a server until all its clients have stopped it, and returns their exit status. It times itself. */
    int (*serve)(const io_ctx *ctx);
    /* Called by clients at the end. After a failure, servers do not wait for the failed client, and remove
     * the file unless `keep`. -1 if servers may not have heard it: they would wait for ever. */
    int (*stop)(const io_ctx *ctx, int status, bool keep);
    /* Called by clients after closing: returns when all their data is in the files (durable if sync was
     * called). Until then create, write, sync and close may return early. */
    int (*drain)(const io_ctx *ctx, io_queue_use *use);
    /* Optional. Called after it: returns when the files are where they are read. Timed as its own phase. */
    int (*move)(const io_ctx *ctx);
    /* With `move`. Called by clients after a failure until it has succeeded, before they remove folders:
     * returns when servers have removed their files, or after a few seconds. */
    void (*undo)(const io_ctx *ctx);
};

/* Allocates the state of a method's options, with the defaults; NULL if it has no options. */
int io_method_state(const io_method *method, void **state, io_error *error);
/* For methods with a backend: create or open, then define if the backend has it. */
int io_method_create(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                     io_file **file);
int io_method_open(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   io_file **file);
/* Can one process write without the others? */
bool io_method_writes_independently(const io_method *method);

#endif
