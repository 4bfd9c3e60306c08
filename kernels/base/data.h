/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of data: arrays, what a file holds, and the part of it that one call moves.
 *
 * A pattern says which data exists and which process owns which part (pattern.h); a method says how it is
 * written and read (method.h). Neither knows the other, and only the driver (driver/driver.c) holds a clock.
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

/* A byte is what has no type; a character is one byte of text. */
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

/* A member of a compound: `count` values of a type, which stand as an array of that shape. Members are
 * packed. */
typedef struct {
    const char *name;
    io_type type;
    int ndims;
    uint64_t shape[IO_MAX_DIMS], count;
} io_member;

/* What a data set is for; CGNS-like formats store coordinates and connectivity differently. */
typedef enum { IO_FIELD, IO_COORDINATE, IO_CONNECTIVITY, IO_PARAMETER, IO_USER_ARRAY } io_role;

/* One without a name ("") is of no file's: of a data set without dimensions, which holds one value. */
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
    bool zeros; /* of facts: all of a part may be 0, so that only a trace sees that a write of it was lost */
    /* Of a mesh: which of its zones (blocks) the data set belongs to, and its name there. Zones count from
     * 0; the data sets of one follow each other. */
    int zone;
    const char *node;
    uint64_t chunk[IO_MAX_DIMS]; /* for formats that store it in chunks; 0: no wish */
    io_filters filters;          /* for formats that have some; none: no wish */
    /* A compound, such as particles. It is an array of bytes for all that do not ask: the last dimension is
     * that of the bytes of an element, which nobody cuts. */
    int nmembers;
    const io_member *members;
    int calm; /* of each 128 words of its values, so many repeat one: what a filter can compress */
} io_dataset;

typedef struct {
    const char *name;
    double value;
} io_attribute;

/* An attribute as a user's file has it: of the file, or of a data set. */
typedef struct {
    const char *name;
    int dataset; /* -1: of the file */
    io_type type;
    bool array; /* of `count` values; else one value. Text (IO_CHAR) is one value of `count` bytes */
    uint64_t count;
    const void *values;
} io_note;

/* What one file holds. The pointers belong to the pattern and live as long as its state. */
typedef struct {
    int ndims, ndatasets, nattributes;
    const io_dim *dims;
    const io_dataset *datasets;
    io_attribute attributes[IO_MAX_ATTRIBUTES];
    int nnotes;
    const io_note *notes;
    bool grows;            /* a format that can (CDF-5) makes the first dimension one of records */
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

const char *io_type_name(io_type type);
uint64_t io_type_size(io_type type);
/* Of a compound the dimensions without that of its bytes, and these; else all dimensions, and 1. */
int io_rank(const io_dataset *dataset);
uint64_t io_element_values(const io_schema *schema, const io_dataset *dataset);
/* The name of the first data set that is a compound; NULL where none is. */
const char *io_name_of_compound(const io_schema *schema);
/* A data set without dimensions, which stands in a dimension of length 1 without a name. */
bool io_is_scalar(const io_schema *schema, const io_dataset *dataset);
/* The name of the first data set that is in a group; NULL where none is. */
const char *io_name_in_group(const io_schema *schema);

#endif
