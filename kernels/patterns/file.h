/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the pattern `file`. file_points.c: which points along a dimension each place has. file_maps.c:
 * the same for several dimensions together. file_schema.c: what a user's file holds. file_cuts.c: options
 * that cut its dimensions. file.c: the pattern. */
#ifndef IOGAUGE_PATTERNS_FILE_H
#define IOGAUGE_PATTERNS_FILE_H

#include <string.h>

#include "pattern.h"

#define FILE_FORMAT "iogauge.like/1"
#define FILE_MAX_DIMS 1024
#define FILE_MAX_DATASETS 65536

/* How the points along a dimension are divided over the `procs` places along it: in blocks; cyclically,
 * `cycle` points at a time; or by lists of runs. */
typedef struct {
    uint64_t runs, points, longest; /* largest number in any place; points of the longest run */
} file_cut_most;
typedef struct {
    uint64_t procs, cycle;
    bool given;          /* by --cut */
    uint64_t lists;      /* places in the list; 0: there is no list */
    uint64_t *first;     /* lists + 1: where the runs of each begin */
    uint64_t *start, *n; /* of each run: its first point, how many */
    uint64_t *points;    /* of each place of a list */
    file_cut_most most;  /* of a list */
} file_cut;

/* file_points.c. Of a place along a dimension: runs, points, a run, a point. */
uint64_t file_cut_runs(const file_cut *cut, uint64_t length, uint64_t at);
uint64_t file_cut_points(const file_cut *cut, uint64_t length, uint64_t at);
void file_cut_run(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i, uint64_t *start,
                  uint64_t *n);
uint64_t file_cut_point(const file_cut *cut, uint64_t length, uint64_t at, uint64_t i);
file_cut_most file_cut_largest(const file_cut *cut, uint64_t length);
/* Reads a JSON list: for each place its runs [first, count], in order. -1: a point is missing or occurs
 * twice. */
int file_cut_take(file_cut *cut, json_t *all, uint64_t length);
void file_cut_release(file_cut *cut);

/* The owner of each point of several dimensions together, without a process grid. A run is within one row of
 * the last dimension. */
typedef struct {
    const char *name; /* of its first dimension */
    int ndims, dim[IO_MAX_DIMS];
    file_cut cut; /* of the points of all, counted with the last dimension fastest */
} file_map;

typedef struct {
    json_t *document; /* owns the names */
    const char *source;
    /* dims: those with a name; one without, for data sets without dimensions; the bytes of each compound */
    io_schema schema;
    int named;
    io_dim *dims;
    io_dataset *datasets;
    io_user_attribute *user_attributes;
    void **values;  /* of the attributes */
    file_cut *cuts; /* of the dims */
    int nmaps;      /* if there are maps, they replace the cuts */
    file_map *maps;
} file_schema;

/* Reads a document made by iogauge replay like (path NULL: the built-in one), and checks everything in it. */
int file_schema_read(const char *path, file_schema *schema, io_error *error);
void file_schema_release(file_schema *schema);
/* The dimension of that name, or -1. */
static inline int file_schema_dim(const file_schema *s, const char *name, size_t length) {
    for (int i = 0; i < s->named; i++)
        if (strlen(s->dims[i].name) == length && !memcmp(s->dims[i].name, name, length)) return i;
    return -1;
}

/* Reads the maps of the document. NULL, or the first dimension of an invalid one. */
const char *file_maps_take(file_schema *schema);
void file_maps_release(file_schema *schema);
/* The map of a data set, the one of most dimensions, and its first axis there; NULL if it has none. */
const file_map *file_map_of(const file_schema *schema, const io_dataset *dataset, int *axis);
/* For a data set with a map: pieces of the process with the most, elements, piece `number` (false: the
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
/* Without these options: as evenly as possible, over the dimensions of the largest data set. */
void file_cuts_default(file_schema *schema, uint64_t processes);

#endif
