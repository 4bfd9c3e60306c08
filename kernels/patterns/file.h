/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the pattern `file`: what a user's file holds (file_schema.c), which process owns which points
 * along a dimension (file_cuts.c), and both together (file.c). */
#ifndef IOGAUGE_PATTERNS_FILE_H
#define IOGAUGE_PATTERNS_FILE_H

#include "pattern.h"

#define FILE_FORMAT "iogauge.like/1"
#define FILE_MOST_DIMS 1024
#define FILE_MOST_DATASETS 65536

/* How the points along a dimension are given to the `procs` places along it: in blocks; `cycle` points to
 * each place in turn; or as a list says, in runs of points that follow each other. */
typedef struct {
    uint64_t runs, points, longest; /* the most of these, of all places; points of the longest run */
} file_cut_most;
typedef struct {
    uint64_t procs, cycle;
    bool given;          /* by --cut */
    uint64_t lists;      /* the places of a list; 0: there is none */
    uint64_t *first;     /* lists + 1: where the runs of each begin */
    uint64_t *start, *n; /* of each run: its first point, how many */
    uint64_t *points;    /* of each place of a list */
    file_cut_most most;  /* of a list */
} file_cut;

/* Of a place along a dimension: runs, points, a run, a point. */
uint64_t file_cut_runs(const file_cut *cut, uint64_t length, uint64_t at);
uint64_t file_cut_points(const file_cut *cut, uint64_t length, uint64_t at);
void file_cut_run(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i, uint64_t *start,
                  uint64_t *n);
uint64_t file_cut_point(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i);
file_cut_most file_cut_largest(const file_cut *cut, uint64_t length);

typedef struct {
    json_t *document; /* the names are its */
    const char *source;
    /* dims: those with a name; one without, for data sets without dimensions; the bytes of each compound */
    io_schema schema;
    int named;
    io_dim *dims;
    io_dataset *datasets;
    io_note *notes;
    void **values;  /* of the notes */
    file_cut *cuts; /* of the dims */
} file_schema;

/* Reads a document that plan-like has made (path NULL: the built-in one), and believes nothing of it. */
int file_schema_read(const char *path, file_schema *schema, io_error *error);
void file_schema_release(file_schema *schema);
/* The dimension of that name, or -1. */
int file_schema_dim(const file_schema *schema, const char *name, size_t length);
/* The data set of most bytes, the first of them. */
const io_dataset *file_schema_largest(const file_schema *schema);

/* --cut NAME=N[:cyclic[:B]][,...] */
int file_cuts_parse(file_schema *schema, const char *text, io_error *error);
/* --procs-grid AxB...: along the last dimensions of the largest data set, in its order. */
int file_cuts_grid(file_schema *schema, const char *text, io_error *error);
/* Neither: as evenly as it goes, over the dimensions of the largest data set. */
void file_cuts_default(file_schema *schema, uint64_t processes);

#endif
