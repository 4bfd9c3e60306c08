/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that patterns and methods share: arrays, parts of arrays, errors, the run's context.
 *
 * A pattern says which data exists and which process owns which part (pattern.h); a method says how
 * it is written and read (method.h). Neither knows the other, and only the driver (core/driver.c)
 * holds a clock. All sizes, counts and offsets are 64-bit. */
#ifndef IOGAUGE_IO_H
#define IOGAUGE_IO_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IO_MAX_DIMS 5
#define IO_MAX_ATTRIBUTES 8
#define IO_MAX_PATH 4096

typedef struct {
    const char *name;  /* long name, or NULL */
    int letter;        /* short name, or a number above 255 */
    const char *value; /* what it takes, or NULL for a flag */
    const char *help;
} io_option;

typedef enum { IO_BYTE, IO_INT32, IO_INT64, IO_FLOAT32, IO_FLOAT64, IO_TYPES } io_type;

/* What a data set is for; CGNS-like formats store coordinates and connectivity differently. */
typedef enum { IO_FIELD, IO_COORDINATE, IO_CONNECTIVITY, IO_PARAMETER, IO_USER_ARRAY } io_role;

typedef struct {
    const char *name;
    uint64_t length;
} io_dim;

typedef struct {
    const char *name;
    io_type type;
    io_role role;
    int ndims;
    int dim[IO_MAX_DIMS];        /* indices into io_schema.dims, slowest first (C order) */
    uint64_t block[IO_MAX_DIMS]; /* the largest part that one process moves in a call */
    bool small;                  /* moved by independent calls in every mode but ordered: headers, tables */
    bool facts;                  /* its values mean something: io_pattern.facts makes them, not a hash */
    /* Of a mesh: which of its zones (blocks) the data set belongs to, and its name there. Zones count from
     * 0; the data sets of one follow each other. */
    int zone;
    const char *node;
} io_dataset;

typedef struct {
    const char *name;
    double value;
} io_attribute;

/* What one file holds. The pointers belong to the pattern and live as long as its state. */
typedef struct {
    int ndims, ndatasets, nattributes;
    const io_dim *dims;
    const io_dataset *datasets;
    io_attribute attributes[IO_MAX_ATTRIBUTES];
    bool file_per_process; /* the pattern itself asks for a file for each process (IOR -F) */
    /* In a file for each process, each row (along a part's last dimension) is a Fortran record: its
     * length in bytes as an int32 before and after it. */
    bool records;
} io_schema;

/* One process's box of one data set, as one call moves it. A count of 0 takes part in the call
 * and moves nothing. */
typedef struct {
    int dataset;
    uint64_t start[IO_MAX_DIMS], count[IO_MAX_DIMS];
    uint64_t offset; /* bytes from the start of the owner's data: in memory, and in a file of its own */
    uint64_t frames; /* with io_schema.records: bytes of length marks before its first byte in that file */
    uint64_t index0; /* added to the global index when values are made (file per process: owner's base) */
    void *data;
} io_part;

/* How a method calls its library. Collective-metadata: collective, and so is what the library does with its
 * metadata. Multi: collective, one call for several arrays. Serial: one process, and no MPI below the
 * library. */
typedef enum {
    IO_COLLECTIVE,
    IO_COLLECTIVE_METADATA,
    IO_INDEPENDENT,
    IO_NONBLOCKING,
    IO_ORDERED,
    IO_MULTI,
    IO_SERIAL,
    IO_MODES
} io_mode;

typedef struct {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
} io_hint;

typedef struct {
    io_hint *items;
    int n;
} io_hints;

/* The first error of this process; later ones are consequences and are dropped. */
typedef struct {
    bool set;
    bool usage;   /* the command line is wrong: exit status 2 */
    bool relayed; /* another process's, told to many: it counts once */
    char text[2048];
} io_error;

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

/* core/error.c. All of the io_fail functions return -1 and keep the first message. */
int io_fail(io_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int io_fail_usage(io_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int io_fail_errno(io_error *error, const char *call, const char *path, int code);
int io_fail_mpi(io_error *error, const char *call, const char *path, int code);
int io_fail_library(io_error *error, const char *call, const char *path, const char *message);

/* core/names.c */
const char *io_type_name(io_type type);
uint64_t io_type_size(io_type type);
const char *io_mode_name(io_mode mode);
int io_mode_find(const char *name, io_mode *mode);
/* The names of modes, given as bits 1 << io_mode, as a message lists them: "a, b or c". */
#define IO_MODES_TEXT 128
const char *io_mode_names(unsigned bits, char text[IO_MODES_TEXT]);

/* core/layout.c */
uint64_t io_dataset_length(const io_schema *schema, int dataset); /* elements */
uint64_t io_dataset_bytes(const io_schema *schema, int dataset);
uint64_t io_dataset_offset(const io_schema *schema, int dataset); /* in a canonical raw file */
uint64_t io_part_elements(const io_schema *schema, const io_part *part);
uint64_t io_part_bytes(const io_schema *schema, const io_part *part);
/* How many parts, from the first, are of its data set. */
int io_parts_alike(const io_part *parts, int n);
/* Part `index` of `parts` nearly equal pieces of `length`: the first ones take the remainder. */
void io_split(uint64_t length, uint64_t parts, uint64_t index, uint64_t *start, uint64_t *count);
/* A near-cubic process grid, longest edge first: each prime factor, largest first, goes to the axis that
 * has least so far. */
void io_process_grid(uint64_t processes, uint64_t grid[3]);

/* The contiguous runs of a part, in file order: for (io_runs r = io_runs_of(s, p); io_runs_next(&r);) */
typedef struct {
    uint64_t global, local, length; /* of this run, in elements: in the data set, in the part */
    uint64_t left, stride[IO_MAX_DIMS], count[IO_MAX_DIMS], at[IO_MAX_DIMS];
    uint64_t first;
    int outer;
    bool begun;
} io_runs;
io_runs io_runs_of(const io_schema *schema, const io_part *part);
bool io_runs_next(io_runs *runs);

/* core/hints.c */
const char *io_hint_value(const io_hints *hints, const char *key); /* NULL where it is not set */

#endif
