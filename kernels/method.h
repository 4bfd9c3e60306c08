/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of a method: how arrays are written and read.
 *
 * To add one: a file in methods/ that defines `const io_method io_method_NAME`, and a line in
 * methods/methods.def (docs/add-a-method.md). base/data.h defines the terms (schema, data set, part),
 * base/layout.h has helpers; method_roles.h is for options and I/O servers, which few methods have.
 *
 * The driver calls create, define?, write..., sync?, close, then open, define?, read..., close, on every
 * process of ctx->comm and with the same number of parts (but see method_roles.h). Every function returns 0,
 * or -1 after io_fail...(ctx->error). A method never reads a clock, never prints, keeps no state outside its
 * io_file and the state of its options, and holds at most one additional copy of a process's data. */
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

/* The context of a method. The rank in `comm` is the owner whose parts this process moves: for reading, the
 * driver reorders the communicator, so that methods need no code for it. */
typedef struct {
    MPI_Comm comm;
    int rank, size;
    io_mode mode;
    const io_hints *hints;
    MPI_Info info;      /* MPI hints, or MPI_INFO_NULL */
    const char *prefix; /* prefix of all file names passed to MPI-IO, or "" */
    void *state;        /* state of the method's options, or NULL */
    io_error *error;
} io_ctx;

/* The choices that determine how a method handles a schema. */
typedef struct {
    io_mode mode;
    const io_hints *hints;
    const void *state; /* of the method's options */
    const char *prefix;
} io_choice;

/* The base of every method's file handle. */
typedef struct {
    const io_method *method;
    const io_ctx *ctx;
    const io_schema *schema;
    char path[IO_MAX_PATH];
    uint64_t calls; /* library or system calls made by this process */
} io_file;

/* Traits of a method. */
enum {
    IO_FILE_PER_PROCESS = 1, /* one file per process; data in io_part.offset order */
    IO_MOVES_NOTHING = 2,    /* nothing to read back or verify */
    IO_TAKES_HINTS = 4,
    IO_WRITES_INDEPENDENTLY =
        8,             /* has no modes, but writes independently: other methods can use it as a backend */
    IO_JUST_DATA = 16, /* files contain nothing but the data */
    IO_FOLDER = 32,    /* path names a directory of files */
};

struct io_method {
    const char *name, *summary;
    const char *extension; /* file name extension with the dot, unless the pattern sets it */
    unsigned modes;        /* from methods.def (methods/modes_of.h), without those missing in this build */
    io_mode default_mode;
    const char *lacks[IO_MODES]; /* per mode of other builds: what this build lacks */
    const char *moves_as;        /* the method whose library moves the data, or NULL */
    unsigned traits;

    int (*create)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    int (*open)(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file);
    /* Optional. Defines the data sets in a new file, or looks them up in an existing one. Timed as its own
     * phase. */
    int (*define)(io_file *file);
    int (*write)(io_file *file, const io_part *parts, int n); /* may modify the data, but must restore it */
    int (*read)(io_file *file, const io_part *parts, int n);
    int (*sync)(io_file *file); /* returns when the data is on stable storage */
    int (*close)(io_file *file);

    /* Optional. The hints in effect, from the library, as a new info; MPI_INFO_NULL for none. */
    int (*hints)(io_file *file, MPI_Info *used);
    /* Optional. The offset of a contiguous data set in the file; otherwise -1 without a message. */
    int (*dataset_offset)(io_file *file, int dataset, uint64_t *offset);
    /* Optional. The file offset of an element, for messages: `local` is its index in the part, `index` in the
     * data set. -1 without a message if unknown. Default: from IO_FILE_PER_PROCESS or dataset_offset. */
    int (*locate)(io_file *file, const io_part *part, uint64_t local, uint64_t index, uint64_t *offset);
    /* For compressing modes: adds the stored size of all data sets after they are written. */
    void (*stored)(io_file *file, uint64_t *bytes);
    /* Optional. Can files of this format hold the schema? If not, io_fail_usage with the reason, which --list
     * shows. */
    int (*check_schema)(const io_schema *schema, const io_choice *choice, io_error *error);
    /* Optional. Checks a hint handled by the method (hdf5_...): its value, and whether it fits the mode. */
    int (*check_hint)(const io_hint *hint, io_mode mode, io_error *error);
    /* Optional. Name and version of the library. */
    void (*version)(char *text, size_t size);

    const io_option_functions *options; /* NULL if it has no options */
    const io_server_functions *servers; /* NULL if it has no servers */
};

/* Allocates a zeroed handle of `size` bytes that begins with an io_file; NULL on failure. */
void *io_file_new(size_t size, const io_method *method, const io_ctx *ctx, const char *path,
                  const io_schema *schema);

#endif
