/* SPDX-License-Identifier: BSD-3-Clause */
/* Data sets, the schema of a file, and the part of it that one call moves.
 *
 * A pattern defines which data exists and which process owns which part (pattern.h). A method defines how it
 * is written and read (method.h). Neither depends on the other, and only the driver (driver/driver.c) reads a
 * clock. All sizes, counts and offsets are 64-bit. */
#ifndef IOGAUGE_DATA_H
#define IOGAUGE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/filter.h"

#define IO_MAX_DIMS 5
#define IO_MAX_ATTRIBUTES 8
#define IO_MAX_PATH 4096
#define IO_MAX_ELEMENT 4096 /* bytes of a compound */

/* IO_BYTE is opaque; IO_CHAR is one byte of text. */
typedef enum {
    IO_BYTE,
    IO_INT32,
    IO_INT64,
    IO_FLOAT32,
    IO_FLOAT64,
    IO_INT8,
    IO_UINT8,
    IO_CHAR,
    IO_INT16,
    IO_UINT16,
    IO_UINT32,
    IO_UINT64,
    IO_TYPES
} io_type;

/* A compound member: an array of `count` values. Members are packed. */
typedef struct {
    const char *name;
    io_type type;
    int ndims;
    uint64_t shape[IO_MAX_DIMS], count;
} io_member;

/* Formats such as CGNS store coordinates and connectivity differently from fields. */
typedef enum { IO_FIELD, IO_COORDINATE, IO_CONNECTIVITY, IO_PARAMETER, IO_USER_ARRAY } io_role;

/* A dimension with an empty name is not stored in the file. Scalars use one, of length 1. */
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
    uint64_t block[IO_MAX_DIMS]; /* largest part that a process moves in one call */
    bool small; /* headers and tables: moved by independent calls in every mode but ordered */
    bool facts; /* values come from io_pattern.facts instead of a hash */
    bool zeros; /* with facts: a part may be all zeros, so only a trace can show a lost write */
    /* Meshes: the zone (block) of the data set, and its name in the zone. Zones count from 0; the data sets
     * of a zone are consecutive. */
    int zone;
    const char *node;
    uint64_t chunk[IO_MAX_DIMS]; /* for chunked formats; 0: no preference */
    io_filters filters;          /* for formats with filters; 0: no preference */
    /* A compound, such as particles. Code that ignores members sees an array of bytes, whose last dimension
     * is the size of an element and is never split. */
    int nmembers;
    const io_member *members;
    int repeated; /* repeated words in each group of 128: compressible data */
} io_dataset;

typedef struct {
    const char *name;
    double value;
} io_attribute;

/* An attribute of a user's file, or of a data set in it. */
typedef struct {
    const char *name;
    int dataset; /* -1: a file attribute */
    io_type type;
    bool array; /* an array of `count` values; otherwise one value. Text (IO_CHAR) is one value of `count`
                   bytes */
    uint64_t count;
    const void *values;
} io_user_attribute;

/* The contents of a file. The pattern owns the pointers, which live as long as its state. */
typedef struct {
    int ndims, ndatasets, nattributes;
    const io_dim *dims;
    const io_dataset *datasets;
    io_attribute attributes[IO_MAX_ATTRIBUTES];
    int nuser_attributes;
    const io_user_attribute *user_attributes;
    bool grows; /* formats with record variables (CDF-5): the first dimension is the record dimension */
    bool file_per_process; /* the pattern requires a file per process (IOR -F) */
    /* File per process: each row (the last dimension of a part) is a Fortran record, with its length in bytes
     * as an int32 before and after it. */
    bool records;
} io_schema;

/* A hyperslab of one data set that a process moves in one call. A process with a count of 0 still takes part
 * in the call. */
typedef struct {
    int dataset;
    uint64_t start[IO_MAX_DIMS], count[IO_MAX_DIMS];
    uint64_t offset; /* bytes from the start of the owner's data, in memory and in a file per process */
    uint64_t frames; /* with io_schema.records: bytes of record marks before the part in that file */
    uint64_t
        index0; /* added to the global index when values are generated (file per process: the owner's base) */
    void *data;
} io_part;

const char *io_type_name(io_type type);
uint64_t io_type_size(io_type type);
/* Rank and values per element. For a compound, the dimension of its bytes counts as the element. */
int io_rank(const io_dataset *dataset);
uint64_t io_element_values(const io_schema *schema, const io_dataset *dataset);
/* The name of the first compound data set, or NULL. */
const char *io_first_compound(const io_schema *schema);
/* Scalars have one dimension of length 1 without a name. */
bool io_is_scalar(const io_schema *schema, const io_dataset *dataset);
/* The name of the first data set inside a group, or NULL. */
const char *io_first_in_group(const io_schema *schema);

#endif
