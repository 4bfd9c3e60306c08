/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of a method: how arrays are written and read.
 *
 * Add one: a file in methods/ that defines `const io_method io_method_NAME`, a line in
 * methods/methods.def and, when it needs a library, one in CMakeLists.txt (docs/add-a-method.md).
 *
 * The driver calls create, define?, write..., sync?, close, and then open, define?, read..., close, always
 * from every process of ctx->comm and always with the same number of parts (but see servers, below). Every
 * function returns 0, or -1 after io_fail...(ctx->error). A method never reads a clock, never prints, keeps
 * no state outside its io_file and the state of its options, and holds at most one more copy of a process's
 * data. */
#ifndef IOGAUGE_METHOD_H
#define IOGAUGE_METHOD_H

#include <jansson.h>

#include "io.h"

typedef struct io_method io_method;

/* Every method's file begins with this. */
typedef struct {
    const io_method *method;
    const io_ctx *ctx;
    const io_schema *schema;
    char path[IO_MAX_PATH];
    uint64_t calls; /* to the method's library or the system, by this process */
} io_file;

enum {
    IO_FILE_PER_PROCESS = 1, /* path names a file of this process only; its data in io_part.offset order */
    IO_MOVES_NOTHING = 2,    /* nothing to read back or verify */
    IO_TAKES_HINTS = 4,
    IO_ALONE =
        8, /* without modes, but its writes need no other process: it can stand behind another method */
};

/* What the busiest of a method's servers did since the last drain. */
typedef struct {
    double busy,
        blocked; /* seconds: with something to do; with a client waiting because the queue was full */
    uint64_t peak, limit; /* bytes in the queue: the most, and the most allowed */
    uint64_t rss;         /* bytes of memory, the most since the start */
} io_queue_use;

struct io_method {
    const char *name, *summary;
    const char *extension; /* of file names that the pattern leaves open, with its dot */
    unsigned modes;        /* bits 1 << io_mode; 0: has none */
    io_mode default_mode;
    const char
        *lacks[IO_MODES]; /* for modes that it has with another build of its library: what this lacks */
    unsigned traits;

    int (*create)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    int (*open)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    /* Optional. Makes the schema's data sets in a file just created, finds them in one just opened. Timed
     * apart, where it is something that users wait for apart. */
    int (*define)(io_file *file);
    int (*write)(io_file *file, const io_part *parts, int n); /* data may be changed meanwhile, not after */
    int (*read)(io_file *file, const io_part *parts, int n);
    int (*sync)(io_file *file); /* returns once the data is on stable storage */
    int (*close)(io_file *file);

    /* Optional. The hints that the library says it uses, as a new info; MPI_INFO_NULL for none. */
    int (*hints)(io_file *file, MPI_Info *used);
    /* Optional. Where a data set begins in the file, where it stands there in one piece; -1, without
     * a message, where it does not. */
    int (*dataset_offset)(io_file *file, int dataset, uint64_t *offset);
    /* Optional. Where an element stands in the file, for messages: `local` counts in the part, `index`
     * in the data set. -1, without a message, where that is not known. The default follows
     * IO_FILE_PER_PROCESS or dataset_offset. */
    int (*locate)(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset);
    /* Optional. Can its files hold this? Else io_fail_usage with the reason, which --list shows too. */
    int (*check_schema)(const io_schema *schema, io_error *error);
    /* Optional. Is this hint's value right, and does it fit the mode? For hints that are the method's own
     * (hdf5_...). */
    int (*check_hint)(const io_hint *hint, io_mode mode, io_error *error);
    /* Optional. Name and version of the library used. */
    void (*version)(char *text, size_t size);

    /* Optional: options of its own, as a pattern has them. */
    const io_option *options; /* ends with one whose letter is 0 */
    size_t state_size;
    void (*defaults)(void *state);
    int (*option)(void *state, int letter, const char *value, io_error *error);
    /* Checks them against the count of processes that run. `mine` is the run's own copy of this method: one
     * that stands in front of another takes over its traits and extension, and sets the two members below. */
    int (*configure)(void *state, uint64_t processes, io_method *mine, io_error *error);
    json_t *(*describe)(const void *state);
    const io_method *behind; /* measured without this one for comparison, in mode independent; else NULL */
    uint64_t servers;        /* so many processes become the method's: they never reach driver and pattern */

    /* For a method with servers. ctx->comm holds the processes of the caller's own kind. */
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
    void (*release)(void *state);
};

typedef struct {
    const char *name;
    const io_method *method; /* NULL: this build lacks it */
    const char *library;     /* what it needs; NULL for none */
} io_method_entry;

const io_method_entry *io_methods(int *n);
int io_method_find(const char *name, const io_method **method, io_error *error);
/* Can it write whenever one process has something, without the others? */
bool io_method_writes_alone(const io_method *method);

/* For a method that stands in front of another: its create or open, and define where it has that. */
int io_method_create(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                     io_file **file);
int io_method_open(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                   io_file **file);

/* A zeroed file of `size` bytes that begins with an io_file, filled in; NULL after io_fail. */
void *io_file_new(size_t size, const io_method *method, const io_ctx *ctx, const char *path,
                  const io_schema *schema);

#endif
