/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of pattern `file`. file_points.c: the points of a dimension that each coordinate of the process
 * grid has. file_maps.c: the same for several dimensions together. file_schema.c: the description of a user's
 * file. file_cuts.c: options that distribute its dimensions. file.c: the pattern. */
#ifndef IOGAUGE_PATTERNS_FILE_H
#define IOGAUGE_PATTERNS_FILE_H

#include <string.h>

#include "pattern.h"

#define FILE_FORMAT "iogauge.like/1"
#define FILE_MAX_DIMS 1024
#define FILE_MAX_DATASETS 65536

/* The distribution of a dimension over `procs` coordinates: in blocks; cyclically, `cycle` points at a time;
 * or by lists of runs. */
typedef struct {
    uint64_t runs, points, longest; /* maximum per coordinate; points in the longest run */
} file_cut_most;
typedef struct {
    uint64_t procs, cycle;
    bool given;          /* by --cut */
    uint64_t lists;      /* number of lists; 0: there are none */
    uint64_t *first;     /* lists + 1: index of each one's first run */
    uint64_t *start, *n; /* per run: its first point, its length */
    uint64_t *points;    /* per list */
    file_cut_most most;  /* of the lists */
} file_cut;

/* file_points.c. For a coordinate along a dimension: number of runs and points, a run, a point. */
uint64_t file_cut_runs(const file_cut *cut, uint64_t length, uint64_t at);
uint64_t file_cut_points(const file_cut *cut, uint64_t length, uint64_t at);
void file_cut_run(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i, uint64_t *start,
                  uint64_t *n);
uint64_t file_cut_point(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i);
file_cut_most file_cut_largest(const file_cut *cut, uint64_t length);
/* Reads JSON lists: for each coordinate its runs [first, count], in order. -1 if a point is missing or occurs
 * twice. */
int file_cut_read(file_cut *cut, json_t *all, uint64_t length);
void file_cut_release(file_cut *cut);

/* The owner of each point of several dimensions together, without a process grid. A run is within one row of
 * the last dimension. */
typedef struct {
    const char *name; /* of its first dimension */
    int ndims, dim[IO_MAX_DIMS];
    file_cut cut; /* of all points, numbered with the last dimension fastest */
} file_map;

typedef struct {
    json_t *document; /* owns the names */
    const char *source;
    /* dims: named ones; one unnamed, for scalars; the bytes of each compound */
    io_schema schema;
    int named;
    io_dim *dims;
    io_dataset *datasets;
    io_user_attribute *user_attributes;
    void **values;  /* of the attributes */
    file_cut *cuts; /* per dimension */
    int nmaps;      /* if there are maps, they replace the cuts */
    file_map *maps;
} file_schema;

/* Reads and checks a document written by iogauge replay like (path NULL: the built-in one). */
int file_schema_read(const char *path, file_schema *schema, io_error *error);
void file_schema_release(file_schema *schema);
/* The dimension with that name, or -1. */
static inline int file_schema_dim(const file_schema *s, const char *name, size_t length) {
    for (int i = 0; i < s->named; i++)
        if (strlen(s->dims[i].name) == length && !memcmp(s->dims[i].name, name, length)) return i;
    return -1;
}

/* Reads the maps of the document. NULL on success, else the first dimension of an invalid one. */
const char *file_maps_read(file_schema *schema);
void file_maps_release(file_schema *schema);
/* The map of a data set, the one with the most dimensions, and its first axis; NULL if it has none. */
const file_map *file_map_of(const file_schema *schema, const io_dataset *dataset, int *axis);
/* For a data set with a map: maximum number of pieces of a process, elements, piece `number` (false if the
 * process has fewer), and the largest piece. */
uint64_t file_map_parts(const file_schema *schema, const io_dataset *dataset);
uint64_t file_map_elements(const file_schema *schema, const io_dataset *dataset, uint64_t owner);
bool file_map_part(const file_schema *schema, const io_dataset *dataset, uint64_t owner, uint64_t number,
                   io_part *part);
void file_map_block(const file_schema *schema, io_dataset *dataset);

/* --cut NAME=N[:cyclic[:B]][,...] */
int file_cuts_parse(file_schema *schema, const char *text, io_error *error);
/* --procs-grid AxB...: along the last dimensions of the largest data set, in its order. */
int file_cuts_grid(file_schema *schema, const char *text, io_error *error);
/* Default: as evenly as possible, over the dimensions of the largest data set. */
void file_cuts_default(file_schema *schema, uint64_t processes);

#endif
