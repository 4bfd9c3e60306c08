/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of method cgns: its handle, opening, and the calls for each role of a data set. */
#ifndef IOGAUGE_CGNS_FILE_H
#define IOGAUGE_CGNS_FILE_H

#include "methods/hdf5_file.h"
/* After HDF5's header, whose types it needs. */
#include <pcgnslib.h>

#if !IO_HDF5_HAS_METADATA
#undef IOKERNEL_CGNS_METADATA
#endif

#define IO_CGNS_NAME 64 /* CGNS names have at most 32 characters */
#define IO_CGNS_BASE "Base"
#define IO_CGNS_ZONE "Zone%06d"

typedef struct {
    io_file base;
    bool creating, serial;
    int id, in_base;   /* the library's indices of file and base */
    int *zone, *index; /* per data set: the index of its zone, and its index in the zone */
    hid_t *data;       /* in mode multi, the open data sets; else NULL */
} cgns_file;

/* Vertices or elements, first to last, counted from 1, fastest dimension first. A process without data takes
 * part and moves nothing. */
typedef struct {
    cgsize_t first[IO_MAX_DIMS], last[IO_MAX_DIMS];
    void *data;
} io_cgns_range;

typedef struct {
    const char *path; /* path from the zone to its HDF5 data set, with the name of the node */
    int (*make_parent)(cgns_file *f, int dataset);
    int (*make)(cgns_file *f, int dataset); /* NULL: `write` creates it */
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

/* cgns_roles.c: shared by the other files. */
int io_cgns_fail(const cgns_file *f, const char *call); /* with the library's message */
io_cgns_range io_cgns_range_of(const io_schema *schema, const io_part *part);
CGNS_ENUMT(DataType_t) io_cgns_type(io_type type);
CGNS_ENUMT(ElementType_t)
io_cgns_element(uint64_t nodes); /* by number of nodes; ElementTypeNull if there is none */
int io_cgns_make_solution(cgns_file *f, int dataset);
int io_cgns_make_user_data(cgns_file *f, int dataset);
int io_cgns_go_to_user_data(cgns_file *f, int dataset);
int io_cgns_find_coordinate(cgns_file *f, int dataset);
int io_cgns_find_section(cgns_file *f, int dataset);
int io_cgns_find_field(cgns_file *f, int dataset);
int io_cgns_find_array(cgns_file *f, int dataset);

/* cgns_multi.c, if the library has calls for several arrays: how many leading parts one call moves; 1 if
 * these calls cannot be used. */
#ifdef IOKERNEL_CGNS_MULTI
int io_cgns_parts_per_call(const cgns_file *f, const io_part *parts, int n);
int io_cgns_move_alike(cgns_file *f, const io_part *parts, int n, bool writing);
#endif

/* cgns_metadata.c: the MPI_Info key for opening the file; its value is true or false. */
#define IO_CGNS_METADATA_KEY "iogauge_coll_metadata"

#endif
