/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the cgns method: its file, how it is opened, and what to call for each role of a data set. */
#ifndef IOGAUGE_CGNS_FILE_H
#define IOGAUGE_CGNS_FILE_H

#include "methods/hdf5_file.h"
/* The library's header after HDF5's, whose identifiers it needs. */
#include <pcgnslib.h>

#define IO_CGNS_NAME 64 /* the library's names have 32 characters */
#define IO_CGNS_BASE "Base"
#define IO_CGNS_ZONE "Zone%06d"

typedef struct {
    io_file base;
    bool creating, serial;
    int id, in_base;   /* the library's numbers of file and base */
    int *zone, *index; /* of each data set: its zone's number, and its own among its kind there */
    hid_t *data;       /* in mode multi: of each data set, held open; else NULL */
} cgns_file;

/* Vertices or elements from first to last, counted from 1, the fastest dimension first. Without data the
 * process takes part and moves nothing. */
typedef struct {
    cgsize_t first[IO_MAX_DIMS], last[IO_MAX_DIMS];
    void *data;
} io_cgns_range;

typedef struct {
    const char *path; /* from the zone to its HDF5 data set, with the node's name */
    int (*make_parent)(cgns_file *f, int dataset);
    int (*make)(cgns_file *f, int dataset); /* NULL: `write` does */
    int (*find)(cgns_file *f, int dataset);
    int (*write)(cgns_file *f, int dataset, const io_cgns_range *range);
    int (*read)(cgns_file *f, int dataset, const io_cgns_range *range);
} io_cgns_role;

/* cgns_open.c */
int io_cgns_start(const io_method *method, const io_ctx *ctx, const char *path, const io_schema *schema,
                  bool creating, io_file **file);
void io_cgns_release(cgns_file *f);
int io_cgns_check_schema(const io_schema *schema, const io_choice *choice, io_error *error);
int io_cgns_check_hint(const io_hint *hint, io_mode mode, io_error *error);

/* cgns_parallel.c and cgns_serial.c: by io_role. */
extern const io_cgns_role io_cgns_parallel[], io_cgns_serial[];

/* cgns_roles.c: what the other files share. */
int io_cgns_fail(const cgns_file *f, const char *call); /* with the library's message */
io_cgns_range io_cgns_range_of(const io_schema *schema, const io_part *part);
CGNS_ENUMT(DataType_t) io_cgns_type(io_type type);
CGNS_ENUMT(ElementType_t) io_cgns_element(uint64_t nodes); /* of so many nodes; ElementTypeNull for none */
int io_cgns_make_solution(cgns_file *f, int dataset);
int io_cgns_make_user_data(cgns_file *f, int dataset);
int io_cgns_go_to_user_data(cgns_file *f, int dataset);
int io_cgns_find_coordinate(cgns_file *f, int dataset);
int io_cgns_find_section(cgns_file *f, int dataset);
int io_cgns_find_field(cgns_file *f, int dataset);
int io_cgns_find_array(cgns_file *f, int dataset);

/* cgns_multi.c, where the library has calls for several arrays. How many parts, from the first, one call
 * moves: 1 for none of those. */
#ifdef IOKERNEL_CGNS_MULTI
int io_cgns_alike(const cgns_file *f, const io_part *parts, int n);
int io_cgns_move_alike(cgns_file *f, const io_part *parts, int n, bool writing);
#endif

/* cgns_metadata.c: the key in an MPI_Info that the file is opened with; its value is true or false. */
#define IO_CGNS_METADATA_KEY "iogauge_coll_metadata"

#endif
