/* SPDX-License-Identifier: BSD-3-Clause */
/* What only some methods have (method.h): options of their own, and processes of their own. */
#ifndef IOGAUGE_METHOD_ROLES_H
#define IOGAUGE_METHOD_ROLES_H

#include <jansson.h>

#include "base/option.h"
#include "method.h"

/* Finds a method of this program by its name; -1 after io_fail_usage. */
typedef int io_method_lookup(const char *name, const io_method **method, io_error *error);

/* Options, as a pattern has them; two methods may share an option's name. The state is ctx->state. */
struct io_option_functions {
    const io_option *list; /* ends with one whose letter is 0 */
    size_t state_size;
    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Checks them against the count of processes that run. `mine` is the run's own copy of this method: one
     * that stands in front of another gets that by `find`, and takes over its traits, extension and what it
     * can tell of files. */
    int (*configure)(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error);
    json_t *(*describe)(const void *state);
    void (*release)(void *state); /* optional */
};

/* What the busiest of a method's servers did since the last drain. */
typedef struct {
    double busy,
        blocked; /* seconds: with something to do; with a client waiting because the queue was full */
    uint64_t peak, limit; /* bytes in the queue: the most, and the most allowed */
    uint64_t rss;         /* bytes of memory, the most since the start */
} io_queue_use;

/* Processes that become the method's: servers, which never reach driver and pattern. ctx->comm holds the
 * processes of the caller's own kind. */
struct io_server_functions {
    uint64_t (*count)(const void *state);
    /* The method that servers write with: measured without them for comparison, in mode independent. */
    const io_method *(*behind)(const void *state);
    /* By all of `all` together, before anything else. */
    int (*start)(const io_ctx *ctx, MPI_Comm all, bool serving);
    /* A server's life, until all its clients have stopped it; their exit status. It measures its own times,
     * because nobody else can. */
    int (*serve)(const io_ctx *ctx);
    /* By clients, last of all. A client that failed is waited for by nobody; then no file is left, unless
     * `keep`. */
    void (*stop)(const io_ctx *ctx, int status, bool keep);
    /* By clients, after closing: returns once all that they wrote is in its files (durable where sync was
     * called). Until then create, write, sync and close may return early: the data is the servers'. */
    int (*drain)(const io_ctx *ctx, io_queue_use *use);
};

/* For a method that stands in front of another: its create or open, and define where it has that. */
int io_method_create(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                     io_file **file);
int io_method_open(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   io_file **file);
/* Can it write whenever one process has something, without the others? */
bool io_method_writes_alone(const io_method *method);

#endif
