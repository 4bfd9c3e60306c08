/* SPDX-License-Identifier: BSD-3-Clause */
/* What ramses-amr and ramses-hydro share: a dump of the RAMSES code as tables of what differs.
 *
 * Shared files (as IDRIS wrote them in 2011): section 1, the same for all, from process 0; section 2, a
 * row for each process; section 3, the grids: structure -> component -> level -> process, or with
 * --layout process-major structure -> component -> process -> level.
 * A file for each process is RAMSES's own: Fortran records in output_NNNNN/{amr,hydro}_NNNNN.outPPPPP,
 * as backup_amr and backup_hydro of trunk/ramses write them (ramses-organisation/ramses on GitHub, commits
 * 03bc994 and 4498879), beside info_NNNNN.txt and header_NNNNN.txt. */
#ifndef IOGAUGE_RAMSES_H
#define IOGAUGE_RAMSES_H

#include "pattern.h"
#include "patterns/ramses_levels.h"

#define RAMSES_NDIM 3
#define RAMSES_CELLS 8 /* of a grid */
#define RAMSES_NVAR 5  /* density, three velocities, pressure */
#define RAMSES_SCALARS 24

/* Where the values of a header's data set come from. */
typedef enum {
    RAMSES_INTS,     /* `count` of the kind's integers, from `first` */
    RAMSES_DOUBLES,  /* likewise its float64 */
    RAMSES_ORDERING, /* the name of the domain decomposition, 128 characters */
    RAMSES_TIMES,    /* one DOUBLES value for each level */
    RAMSES_NUMBTOT,  /* for each level: all grids, least, most, average of a process, and six zeros */
    RAMSES_HEADL,    /* for each level and cpu: its first grid, */
    RAMSES_TAILL,    /* its last grid, */
    RAMSES_NUMBL,    /* how many */
    RAMSES_NUMBB,    /* for each level: 100 boundary regions, of which there are none */
    RAMSES_KEYS,     /* where each process's domain begins on the Hilbert curve, and the end */
} ramses_source;

typedef struct {
    const char *name;
    ramses_source source;
    int first, count;
} ramses_table;

typedef struct {
    const char *name;
    io_type type;
    int components; /* of each grid */
} ramses_structure;

typedef struct {
    const char *name; /* amr, hydro */
    const ramses_table *common, *each, *own;
    int ncommon, neach, nown; /* section 1; section 2; the header of a process's own file */
    const ramses_structure *structures;
    int nstructures;
    int own_only;    /* the first so many structures are not in shared files */
    bool cell_major; /* own files: component -> structure, not structure -> component */
    bool counted;    /* own files: each block of grids follows its level and number of grids */
    void (*scalars)(const ramses_levels *l, uint64_t owner, uint64_t step, int32_t *ints, double *doubles);
} ramses_kind;

#define RAMSES_SETS 48
#define RAMSES_PARTS 1152 /* of a transfer: 27 blocks of a hydro level, 40 components and a count each */

typedef struct {
    const ramses_kind *kind;
    uint64_t size;
    bool process_major, merge, refine, layout_given, own_files;
    ramses_levels levels;
    uint64_t level_start[RAMSES_LEVELS], grids; /* level-major: of each level; all */
    int ndims, nsets;
    int first_grid_set; /* data sets before it are headers */
    io_dim dims[RAMSES_SETS];
    char names[RAMSES_SETS][32];
    io_dataset sets[RAMSES_SETS];
    const ramses_table *tables[RAMSES_SETS]; /* of header data sets */
} ramses;

/* ramses.c: the functions of an io_pattern. */
extern const io_option ramses_options[];
void ramses_defaults(ramses *s, const ramses_kind *kind);
int ramses_option(void *state, int letter, const char *value, io_error *error);
int ramses_configure(void *state, const io_setup *setup, io_error *error);
json_t *ramses_describe(const void *state);
void ramses_schema(const void *state, uint64_t step, io_schema *schema);
void ramses_file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size);
void ramses_own_name(const void *state, uint64_t step, uint64_t owner, uint64_t number, char *name,
                     size_t size);
uint64_t ramses_transfers(const void *state);
int ramses_parts(const void *state, uint64_t owner, uint64_t transfer, io_part *parts);
uint64_t ramses_bytes(const void *state, uint64_t owner);

/* Where a process's grids of a level begin among all; bytes of its header; bytes of a grid. */
uint64_t ramses_grid_start(const ramses *s, int level, uint64_t owner);
uint64_t ramses_header_bytes(const ramses *s, uint64_t owner);
uint64_t ramses_bytes_per_grid(const ramses *s);

/* ramses_facts.c: what headers and text files say. */
uint64_t ramses_table_length(const ramses_levels *l, const ramses_table *table);
void ramses_facts(const void *state, uint64_t owner, uint64_t step, const io_part *part, void *out);
bool ramses_text_file(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out);

/* ramses_own.c: the parts of a file for each process, after its header. */
int ramses_level_parts(const ramses *s, uint64_t owner, int level, io_part *parts);

/* All but the name, the summary and the defaults. */
#define RAMSES_PATTERN                                                                                       \
    .options = ramses_options, .state_size = sizeof(ramses), .max_parts = RAMSES_PARTS, .packs = true,       \
    .option = ramses_option, .configure = ramses_configure, .describe = ramses_describe,                     \
    .schema = ramses_schema, .file_name = ramses_file_name, .transfers = ramses_transfers,                   \
    .parts = ramses_parts, .bytes = ramses_bytes, .facts = ramses_facts, .own_name = ramses_own_name,        \
    .text_file = ramses_text_file

#endif
