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

/* The context of a method. The rank in `comm` is the owner whose parts this process moves: the driver
 * reorders the communicator for reading, so that methods need no code for it. */
typedef struct {
    MPI_Comm comm;
    int rank, size;
    io_mode mode;
    const io_hints *hints;
    MPI_Info info;      /* the hints for MPI; MPI_INFO_NULL if there are none */
    const char *prefix; /* prefix of all names given to MPI-IO; "" for none */
    void *state;        /* state of the method's options; NULL if it has none */
    io_error *error;
} io_ctx;

/* How a method would handle a schema. */
typedef struct {
    io_mode mode;
    const io_hints *hints;
    const void *state; /* of the method's options */
} io_choice;

/* Files of all methods begin with this. */
typedef struct {
    const io_method *method;
    const io_ctx *ctx;
    const io_schema *schema;
    char path[IO_MAX_PATH];
    uint64_t calls; /* calls of this process to the library or the system */
} io_file;

/* Traits. */
enum {
    IO_FILE_PER_PROCESS = 1, /* path names a file of this process only; data in io_part.offset order */
    IO_MOVES_NOTHING = 2,    /* nothing to read back or verify */
    IO_TAKES_HINTS = 4,
    IO_ALONE = 8, /* has no modes, but writes without other processes: it can stand behind another method */
    IO_JUST_DATA = 16, /* its files hold only the data */
    IO_FOLDER = 32,    /* path names a folder with files of the method */
};

struct io_method {
    const char *name, *summary;
    const char *extension; /* file name extension, unless the pattern sets it; with the dot */
    unsigned modes;        /* from methods.def (methods/modes_of.h), without those that this build lacks */
    io_mode default_mode;
    const char *lacks[IO_MODES]; /* for modes of other builds: what this build lacks */
    const char *moves_as;        /* the method whose library moves the data for this one; NULL for none */
    unsigned traits;

    int (*create)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    int (*open)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    /* Optional. Makes the data sets of the schema in a new file, or finds them in an existing one. It is a
     * phase with its own time. */
    int (*define)(io_file *file);
    int (*write)(io_file *file, const io_part *parts,
                 int n); /* may change the data during the call, not after it */
    int (*read)(io_file *file, const io_part *parts, int n);
    int (*sync)(io_file *file); /* returns when the data is on stable storage */
    int (*close)(io_file *file);

    /* Optional. The hints in force, from the library, as a new info; MPI_INFO_NULL for none. */
    int (*hints)(io_file *file, MPI_Info *used);
    /* Optional. The offset of a data set, if it is contiguous in the file; else -1 without a message. */
    int (*dataset_offset)(io_file *file, int dataset, uint64_t *offset);
    /* Optional. The offset of an element, for messages: `local` counts in the part, `index` in the data set.
     * -1 without a message if unknown. Default: from IO_FILE_PER_PROCESS or dataset_offset. */
    int (*locate)(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset);
    /* For modes that compress: adds the stored bytes of all data sets, once they are written. */
    void (*stored)(io_file *file, uint64_t *bytes);
    /* Optional. Can its files hold this schema? Else io_fail_usage with the reason, which --list shows too.
     */
    int (*check_schema)(const io_schema *schema, const io_choice *choice, io_error *error);
    /* Optional. Checks a hint of the method's own (hdf5_...): its value, and if it fits the mode. */
    int (*check_hint)(const io_hint *hint, io_mode mode, io_error *error);
    /* Optional. Name and version of the library used. */
    void (*version)(char *text, size_t size);

    const io_option_functions *options; /* NULL: it has no options */
    const io_server_functions *servers; /* NULL: it has no servers */
};

/* A new zeroed file of `size` bytes that begins with an io_file; NULL after io_fail. */
void *io_file_new(size_t size, const io_method *method, const io_ctx *ctx, const char *path,
                  const io_schema *schema);

#endif
