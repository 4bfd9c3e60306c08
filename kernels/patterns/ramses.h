/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by ramses-amr and ramses-hydro: a dump of the RAMSES code; tables hold the differences.
 *
 * Shared files (as written by IDRIS in 2011): section 1, common data, from process 0; section 2, a row per
 * process; section 3, the grids: structure -> component -> level -> process, or with --layout process-major
 * structure -> component -> process -> level.
 * Files per process are RAMSES's own: Fortran records in output_NNNNN/{amr,hydro}_NNNNN.outPPPPP, as written
 * by backup_amr and backup_hydro of trunk/ramses (ramses-organisation/ramses on GitHub, commits 03bc994 and
 * 4498879), with info_NNNNN.txt and header_NNNNN.txt. */
#ifndef IOGAUGE_RAMSES_H
#define IOGAUGE_RAMSES_H

#include "pattern.h"
#include "patterns/ramses_levels.h"

#define RAMSES_NDIM 3
#define RAMSES_CELLS 8 /* per grid */
#define RAMSES_NVAR 5  /* density, three velocities, pressure */
#define RAMSES_SCALARS 24

/* The source of the values of a header data set. */
typedef enum {
    RAMSES_INTS,     /* `count` of the kind's integers, from `first` */
    RAMSES_DOUBLES,  /* the same with its float64 */
    RAMSES_ORDERING, /* the name of the domain decomposition, 128 characters */
    RAMSES_TIMES,    /* one DOUBLES value per level */
    RAMSES_NUMBTOT,  /* per level: all grids, minimum, maximum and average per process, and six zeros */
    RAMSES_HEADL,    /* per level and cpu: first grid, */
    RAMSES_TAILL,    /* last grid, */
    RAMSES_NUMBL,    /* number of grids */
    RAMSES_NUMBB,    /* per level: 100 boundary regions, all empty */
    RAMSES_WALLS,    /* per node of the bisection tree: wall, */
    RAMSES_NEXT,     /* its two children, */
    RAMSES_INDEX,    /* the owner of the domain */
    RAMSES_BOX_MIN,  /* per process: start of its domain along x, y and z, */
    RAMSES_BOX_MAX,  /* and its end */
} ramses_source;

typedef struct {
    const char *name;
    ramses_source source;
    int first, count;
} ramses_table;

typedef struct {
    const char *name;
    io_type type;
    int components; /* per grid */
} ramses_structure;

typedef struct {
    const char *name; /* amr, hydro */
    const ramses_table *common, *each, *own;
    int ncommon, neach, nown; /* section 1; section 2; header of a file per process */
    const ramses_structure *structures;
    int nstructures;
    int own_only;    /* number of leading structures that shared files do not have */
    bool cell_major; /* own files: component -> structure, not structure -> component */
    bool counted;    /* own files: each block of grids follows its level and number of grids */
    bool gas;        /* grid values are from ramses_gas.c, not ramses_mesh.c */
    void (*scalars)(const ramses_levels *l, uint64_t owner, uint64_t step, int32_t *ints, double *doubles);
} ramses_kind;

#define RAMSES_SETS 48
#define RAMSES_PARTS                                                                                         \
    (41 * RAMSES_BLOCKS + 1) /* per transfer: blocks of a hydro level, each with a count                     \
                                \ */

typedef struct {
    const ramses_kind *kind;
    uint64_t size;
    bool process_major, merge, refine, layout_given, own_files, physical;
    int most_blocks; /* per level, in a file per process */
    double *profile; /* ramses_gas.c */
    ramses_levels levels;
    uint64_t level_start[RAMSES_LEVELS], grids; /* level-major: start of each level; total */
    int ndims, nsets;
    int first_grid_set; /* the data sets before it are headers */
    io_dim dims[RAMSES_SETS];
    char names[RAMSES_SETS][32];
    io_dataset sets[RAMSES_SETS];
    const ramses_table *tables[RAMSES_SETS]; /* of header data sets */
} ramses;

/* ramses.c: the functions of an io_pattern. */
extern const io_option ramses_options[];
void ramses_defaults(ramses *s, const ramses_kind *kind);
int ramses_option(void *state, int letter, const char *value, io_error *error);
void ramses_release(void *state);
int ramses_configure(void *state, const io_setup *setup, io_error *error);
json_t *ramses_describe(const void *state);
void ramses_file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size);
void ramses_own_name(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size);
uint64_t ramses_transfers(const void *state);
int ramses_parts(const void *state, uint64_t owner, uint64_t transfer, io_part *parts);
uint64_t ramses_bytes(const void *state, uint64_t owner);

void ramses_facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out);

/* ramses_schema.c: the data sets, once the levels are known. */
void ramses_build_schema(ramses *s);
void ramses_schema(const void *state, uint64_t step, io_schema *schema);
/* The index of a process's first grid on a level, among all grids. */
uint64_t ramses_grid_start(const ramses *s, int level, uint64_t owner);
/* A process's header: its own file's, or the common section on process 0 and this process's rows of
 * section 2. Its parts, and its size in bytes. */
int ramses_header_parts(const ramses *s, uint64_t owner, io_part *out);
uint64_t ramses_header_bytes(const ramses *s, uint64_t owner);
/* Bytes per grid: in the first `structures` of the schema, and in all. */
uint64_t ramses_grid_bytes(const ramses *s, int structures);
uint64_t ramses_bytes_per_grid(const ramses *s);

/* ramses_facts.c: the tables in headers. */
uint64_t ramses_table_length(const ramses_levels *l, const ramses_table *table);
void ramses_table_facts(const ramses *s, const ramses_table *table, uint64_t owner, uint64_t step, void *out);
/* ramses_text.c */
bool ramses_text_file(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out);

/* With --values physical: fills one component of the grids x0 to x1 (exclusive) of a row of a piece. */
typedef struct ramses_rows ramses_rows;
typedef void ramses_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                        uint64_t x1, void *out);
struct ramses_rows {
    const ramses *s;
    const ramses_view *here, *up,
        *down; /* this level, the coarser and the finer one; NULL if there is none */
    uint64_t owner, step;
    int level, structure, component;
    double shock, speed; /* of the gas: radius and speed of the shock */
};
/* ramses_mesh.c: the tree. The function that fills a structure's rows. */
ramses_row *ramses_mesh_row(int structure);
/* Do all grids of a piece have the same value? Most do, on the finest level. */
bool ramses_mesh_same(const ramses_rows *r, const ramses_piece *piece, int32_t *value);
/* ramses_gas.c: a blast wave. `profile` is computed when the pattern is configured. */
double *ramses_make_profile(void);
double ramses_time(uint64_t step);
double ramses_shock(uint64_t step, double *speed);
ramses_row ramses_gas_row;
/* ramses_values.c: the values of a part of the grids. */
void ramses_values(const ramses *s, uint64_t owner, uint64_t step, const io_part *part, void *out);

/* ramses_own.c: the parts of a file per process, after its header. */
int ramses_level_parts(const ramses *s, uint64_t owner, int level, io_part *parts);

/* All but the name, the summary and the defaults. */
#define RAMSES_PATTERN                                                                                       \
    .options = ramses_options, .state_size = sizeof(ramses), .max_parts = RAMSES_PARTS, .packs = true,       \
    .option = ramses_option, .configure = ramses_configure, .release = ramses_release,                       \
    .describe = ramses_describe, .schema = ramses_schema, .file_name = ramses_file_name,                     \
    .transfers = ramses_transfers, .parts = ramses_parts, .bytes = ramses_bytes, .facts = ramses_facts,      \
    .own_name = ramses_own_name, .text_file = ramses_text_file

#endif
