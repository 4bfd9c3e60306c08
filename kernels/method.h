/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of a method: how arrays are written and read.
 *
 * Add one: a file in methods/ that defines `const io_method io_method_NAME` and a line in
 * methods/methods.def (docs/add-a-method.md). base/data.h has the words (schema, data set, part),
 * base/layout.h what helps; method_roles.h is for options and processes of its own, which few have.
 *
 * The driver calls create, define?, write..., sync?, close, and then open, define?, read..., close, always
 * from every process of ctx->comm and always with the same number of parts (but see method_roles.h). Every
 * function returns 0, or -1 after io_fail...(ctx->error). A method never reads a clock, never prints, keeps
 * no state outside its io_file and the state of its options, and holds at most one more copy of a process's
 * data. */
#ifndef IOGAUGE_METHOD_H
#define IOGAUGE_METHOD_H

#include <mpi.h>

#include "base/data.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/layout.h"
#include "base/mode.h"

typedef struct io_method io_method;
typedef struct io_option_functions io_option_functions; /* method_roles.h */
typedef struct io_server_functions io_server_functions;

/* What a method may know of the run. The rank in `comm` is the owner whose parts this process
 * moves: the driver reorders the communicator for reading, so that no method knows of shifting. */
typedef struct {
    MPI_Comm comm;
    int rank, size;
    io_mode mode;
    const io_hints *hints;
    MPI_Info info;      /* the hints that MPI may see; MPI_INFO_NULL where there are none */
    const char *prefix; /* goes before every name given to MPI-IO; "" for none */
    void *state;        /* the method's own, of its options; NULL where it has none */
    io_error *error;
} io_ctx;

/* What a method is asked to do with a schema. */
typedef struct {
    io_mode mode;
    const io_hints *hints;
    const void *state; /* of the method's options */
} io_choice;

/* Every method's file begins with this. */
typedef struct {
    const io_method *method;
    const io_ctx *ctx;
    const io_schema *schema;
    char path[IO_MAX_PATH];
    uint64_t calls; /* to the method's library or the system, by this process */
} io_file;

/* Traits. */
enum {
    IO_FILE_PER_PROCESS = 1, /* path names a file of this process only; its data in io_part.offset order */
    IO_MOVES_NOTHING = 2,    /* nothing to read back or verify */
    IO_TAKES_HINTS = 4,
    IO_ALONE =
        8, /* without modes, but its writes need no other process: it can stand behind another method */
    IO_JUST_DATA = 16, /* its files hold the data and nothing else */
    IO_FOLDER = 32,    /* path names a folder, and the files in it are the method's */
};

struct io_method {
    const char *name, *summary;
    const char *extension; /* of file names that the pattern leaves open, with its dot */
    unsigned modes;        /* of its line in methods.def (methods/modes_of.h), less what this build lacks */
    io_mode default_mode;
    const char *lacks[IO_MODES]; /* of modes that another build of its library has: what this one lacks */
    const char *moves_as;        /* the method whose library moves the data below this one's; NULL for none */
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
    /* Of modes that compress: adds the bytes that all data sets take in the file, once they are written. */
    void (*stored)(io_file *file, uint64_t *bytes);
    /* Optional. Can its files hold this? Else io_fail_usage with the reason, which --list shows too. */
    int (*check_schema)(const io_schema *schema, const io_choice *choice, io_error *error);
    /* Optional. Is this hint's value right, and does it fit the mode? For hints that are the method's own
     * (hdf5_...). */
    int (*check_hint)(const io_hint *hint, io_mode mode, io_error *error);
    /* Optional. Name and version of the library used. */
    void (*version)(char *text, size_t size);

    const io_option_functions *options; /* NULL: no options of its own */
    const io_server_functions *servers; /* NULL: no processes of its own */
};

/* A zeroed file of `size` bytes that begins with an io_file, filled in; NULL after io_fail. */
void *io_file_new(size_t size, const io_method *method, const io_ctx *ctx, const char *path,
                  const io_schema *schema);

#endif
