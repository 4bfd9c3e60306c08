/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays, the contents of a file, and the part of it that one call moves.
 *
 * A pattern says which data exists and which process owns which part (pattern.h). A method says how it is
 * written and read (method.h). Neither knows the other, and only the driver (driver/driver.c) reads a clock.
 * All sizes, counts and offsets are 64-bit. */
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

/* IO_BYTE has no type; IO_CHAR is one byte of text. */
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

/* A member of a compound: an array of `count` values of that shape. Members are packed. */
typedef struct {
    const char *name;
    io_type type;
    int ndims;
    uint64_t shape[IO_MAX_DIMS], count;
} io_member;

/* The purpose of a data set: formats such as CGNS store coordinates and connectivity differently. */
typedef enum { IO_FIELD, IO_COORDINATE, IO_CONNECTIVITY, IO_PARAMETER, IO_USER_ARRAY } io_role;

/* The dimension without a name ("") is not in the file: it is for data sets without dimensions, which hold
 * one value. */
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
    bool facts;                  /* its values come from io_pattern.facts, not from a hash */
    bool
        zeros; /* of facts: a part may be all zeros, so that only a trace shows that a write of it was lost */
    /* In a mesh: the zone (block) of the data set, and its name there. Zones count from 0; the data sets of a
     * zone are consecutive. */
    int zone;
    const char *node;
    uint64_t chunk[IO_MAX_DIMS]; /* for formats with chunks; 0: no preference */
    io_filters filters;          /* for formats with filters; none: no preference */
    /* A compound, such as particles. To code that does not look at members it is an array of bytes: the last
     * dimension is the bytes of an element, which is never split. */
    int nmembers;
    const io_member *members;
    int calm; /* of each 128 words of its values, how many repeat one: compressible data */
} io_dataset;

typedef struct {
    const char *name;
    double value;
} io_attribute;

/* An attribute of a user's file, or of a data set in it. */
typedef struct {
    const char *name;
    int dataset; /* -1: of the file */
    io_type type;
    bool array; /* an array of `count` values; else one value. Text (IO_CHAR) is one value of `count` bytes */
    uint64_t count;
    const void *values;
} io_note;

/* The contents of a file. The pointers belong to the pattern and live as long as its state. */
typedef struct {
    int ndims, ndatasets, nattributes;
    const io_dim *dims;
    const io_dataset *datasets;
    io_attribute attributes[IO_MAX_ATTRIBUTES];
    int nnotes;
    const io_note *notes;
    bool grows; /* formats with record variables (CDF-5) make the first dimension the record dimension */
    bool file_per_process; /* the pattern itself asks for a file for each process (IOR -F) */
    /* In a file for each process, each row (along a part's last dimension) is a Fortran record: its
     * length in bytes as an int32 before and after it. */
    bool records;
} io_schema;

/* One process's box of one data set in one call. A process with a count of 0 takes part in the call and moves
 * nothing. */
typedef struct {
    int dataset;
    uint64_t start[IO_MAX_DIMS], count[IO_MAX_DIMS];
    uint64_t offset; /* bytes from the start of the owner's data, in memory and in a file per process */
    uint64_t frames; /* with io_schema.records: bytes of length marks before its first byte in that file */
    uint64_t index0; /* added to the global index when values are made (file per process: owner's base) */
    void *data;
} io_part;

const char *io_type_name(io_type type);
uint64_t io_type_size(io_type type);
/* For a compound: the dimensions without the one of its bytes, and these bytes; else all dimensions, and 1.
 */
int io_rank(const io_dataset *dataset);
uint64_t io_element_values(const io_schema *schema, const io_dataset *dataset);
/* The name of the first data set that is a compound; NULL where none is. */
const char *io_name_of_compound(const io_schema *schema);
/* Has it no dimensions? It then has one of length 1 without a name. */
bool io_is_scalar(const io_schema *schema, const io_dataset *dataset);
/* The name of the first data set that is in a group; NULL where none is. */
const char *io_name_in_group(const io_schema *schema);

#endif
