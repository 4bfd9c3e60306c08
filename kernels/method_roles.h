/* SPDX-License-Identifier: BSD-3-Clause */
/* Optional parts of a method (method.h): options and servers. */
#ifndef IOGAUGE_METHOD_ROLES_H
#define IOGAUGE_METHOD_ROLES_H

#include <jansson.h>

#include "base/option.h"
#include "method.h"

/* Finds a method of this program by its name; -1 after io_fail_usage. */
typedef int io_method_lookup(const char *name, const io_method **method, io_error *error);

/* Options, like those of a pattern. Two methods may share the name of an option. The state is ctx->state. */
struct io_option_functions {
    const io_option *list; /* ends with one whose letter is 0 */
    size_t state_size;
    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Checks the options for a number of processes. `mine` is the copy of this method for the run. A method
     * that stands in front of another gets that one from `find`, and takes over its traits, extension and
     * what it can tell about files. */
    int (*configure)(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error);
    json_t *(*describe)(const void *state);
    void (*release)(void *state); /* optional */
};

/* The busiest server since the last drain. */
typedef struct {
    double busy, blocked; /* seconds: busy; with a client waiting because the queue was full */
    uint64_t peak, limit; /* bytes in the queue: peak, and limit */
    uint64_t rss;         /* peak memory in bytes since the start */
} io_queue_use;

/* Servers: processes that run the method's code and never the driver or a pattern. ctx->comm holds the
 * processes of the same kind, servers or clients. */
struct io_server_functions {
    uint64_t (*count)(const void *state);
    /* The method that the servers write with. The driver measures it alone too, in mode independent. */
    const io_method *(*behind)(const void *state);
    /* Called by all of `all`, first of all. */
    int (*start)(const io_ctx *ctx, MPI_Comm all, bool serving);
    /* Runs a server until all its clients have stopped it, and returns their exit status. It measures its own
     * times. */
    int (*serve)(const io_ctx *ctx);
    /* Called by clients at the end. Servers do not wait for a failed client, and then remove the file, unless
     * `keep`. */
    void (*stop)(const io_ctx *ctx, int status, bool keep);
    /* Called by clients after closing: returns when everything they wrote is in the files (durable if sync
     * was called). Until then create, write, sync and close may return early. */
    int (*drain)(const io_ctx *ctx, io_queue_use *use);
};

/* For a method that stands in front of another: create or open, and define if that method has it. */
int io_method_create(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                     io_file **file);
int io_method_open(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   io_file **file);
/* Can one process write without the others? */
bool io_method_writes_alone(const io_method *method);

#endif
