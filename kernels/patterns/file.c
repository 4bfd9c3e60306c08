/* SPDX-License-Identifier: BSD-3-Clause */
/* file: arrays like those in a file of the user. `iogauge replay like` describes such a file in a document
 * (--like). Each dimension is distributed independently over a grid of processes, and a call moves one
 * variable. A process holds the points at its coordinates along all of the variable's dimensions; a variable
 * without a distributed dimension belongs to the processes at coordinate 0 along it.
 *
 * The runs of a cyclic dimension are not contiguous in a file. The parts of a variable therefore are, for
 * each point along the dimensions before the last cyclic one, the runs along that one, with all of the
 * dimensions after it. For variables with a decomposition map over several dimensions see file_maps.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/file.h"

extern const io_pattern io_pattern_file;

enum { LIKE = 256, GRID, CUT, CALM };
#define MAX_PARTS (1 << 20)
#define LONGEST "longest" /* --cut */
#define REPEAT_GROUP 128  /* see io_dataset.repeated */

typedef struct {
    const char *path, *grid, *cut;
    double repeated;
    file_schema file;
    bool by_variable; /* each variable is distributed by itself: by its map, or in blocks of its longest
                         dimension */
    file_cut spread;  /* these blocks */
    uint64_t processes;
    int most_parts;
} like;

static const io_option options[] = {
    {"like", LIKE, "FILE",
     "description of a file, from iogauge replay like output.nc -o FILE (default: a small built-in one)"},
    {"procs-grid", GRID, "AxBx...",
     "process grid along the last dimensions of the largest variable (default: even blocks)"},
    {"cut", CUT, "D=N[:cyclic[:B]],...",
     "instead, by name: dimension D over N processes, in blocks or cyclically, B points at a time; " LONGEST
     ": each variable in blocks of its longest dimension"},
    {"compressibility", CALM, "X", "fraction of the values that repeat: 0 (default) to 1"},
    {0},
};

static void defaults(void *state) { *(like *)state = (like){0}; }

static int option(void *state, int letter, const char *value, io_error *error) {
    like *s = state;
    char *end;
    switch (letter) {
    case LIKE: s->path = value; return 0;
    case GRID: s->grid = value; return 0;
    case CUT: s->cut = value; return 0;
    default: break;
    }
    s->repeated = strtod(value, &end);
    if (end != value && !*end && s->repeated >= 0 && s->repeated <= 1) return 0;
    return io_fail_usage(error, "--compressibility %s: expected a number from 0 to 1, such as 0.5", value);
}

/* ---------------------------------------------------------------- distribution */

typedef struct {
    uint64_t owner, along[FILE_MAX_DIMS];
} place;

/* The owner's coordinates in the process grid; the last dimension varies fastest. */
static place place_of(const like *s, uint64_t owner) {
    place p = {.owner = owner};
    for (int i = s->file.schema.ndims; i--;) {
        p.along[i] = owner % s->file.cuts[i].procs;
        owner /= s->file.cuts[i].procs;
    }
    return p;
}

static bool has_map(const like *s, const io_dataset *d) {
    int axis;
    return file_map_of(&s->file, d, &axis);
}

/* The longest axis, of which each process has a block; -1 if it is too short. */
static int spread_axis(const like *s, const io_dataset *d) {
    int longest = 0;
    for (int i = 1; i < io_rank(d); i++)
        if (s->file.dims[d->dim[i]].length > s->file.dims[d->dim[longest]].length) longest = i;
    return s->file.dims[d->dim[longest]].length >= s->processes ? longest : -1;
}

static bool has_dim(const io_dataset *d, int axes, int dim) {
    for (int i = 0; i < axes; i++)
        if (d->dim[i] == dim) return true;
    return false;
}

/* The distribution of an axis of a variable. If a variable has a dimension twice, the first axis is
 * distributed. */
static const file_cut *cut_of(const like *s, const io_dataset *d, int axis) {
    static const file_cut undivided = {.procs = 1};
    if (s->by_variable) return axis == spread_axis(s, d) ? &s->spread : &undivided;
    return has_dim(d, axis, d->dim[axis]) ? &undivided : &s->file.cuts[d->dim[axis]];
}

static uint64_t length_of(const like *s, const io_dataset *d, int axis) {
    return s->file.dims[d->dim[axis]].length;
}

/* The last axis along which a process has several runs; -1 if every process has one hyperslab. */
static int last_of_runs(const like *s, const io_dataset *d) {
    for (int i = d->ndims - 1; i >= 0; i--)
        if (file_cut_largest(cut_of(s, d, i), length_of(s, d, i)).runs > 1) return i;
    return -1;
}

/* Number of parts of the variable, the same for each owner. */
static uint64_t parts_of(const like *s, const io_dataset *d) {
    uint64_t parts = 1;
    if (has_map(s, d)) return file_map_parts(&s->file, d);
    int last = last_of_runs(s, d);
    for (int i = 0; i <= last; i++) {
        file_cut_most most = file_cut_largest(cut_of(s, d, i), length_of(s, d, i));
        if (__builtin_mul_overflow(parts, i < last ? most.points : most.runs, &parts)) return UINT64_MAX;
    }
    return parts;
}

/* A variable belongs to the processes at coordinate 0 along the dimensions that it lacks. */
static bool is_owner(const like *s, const io_dataset *d, const place *p) {
    if (s->by_variable) return !p->owner || spread_axis(s, d) >= 0;
    for (int i = 0; i < s->file.schema.ndims; i++)
        if (p->along[i] && !has_dim(d, d->ndims, i)) return false;
    return true;
}

static uint64_t place_along(const like *s, const io_dataset *d, int axis, const place *p) {
    if (s->by_variable) return axis == spread_axis(s, d) ? p->owner : 0;
    return has_dim(d, axis, d->dim[axis]) ? 0 : p->along[d->dim[axis]];
}

/* Part `number` of a variable; false if the owner has fewer. */
static bool part_at(const like *s, const io_dataset *d, const place *p, int last, uint64_t number,
                    io_part *part) {
    if (has_map(s, d)) return file_map_part(&s->file, d, p->owner, number, part);
    if (!is_owner(s, d, p)) return false;
    for (int i = last; i >= 0; i--) {
        const file_cut *cut = cut_of(s, d, i);
        uint64_t length = length_of(s, d, i), at = place_along(s, d, i, p);
        file_cut_most most = file_cut_largest(cut, length);
        uint64_t of = i == last ? most.runs : most.points, here = number % of;
        number /= of;
        if (here >= (i == last ? file_cut_runs(cut, length, at) : file_cut_points(cut, length, at)))
            return false;
        if (i == last)
            file_cut_run(cut, length, at, here, &part->start[i], &part->count[i]);
        else
            part->start[i] = file_cut_point(cut, length, at, here), part->count[i] = 1;
    }
    for (int i = last + 1; i < d->ndims; i++)
        file_cut_run(cut_of(s, d, i), length_of(s, d, i), place_along(s, d, i, p), 0, &part->start[i],
                     &part->count[i]);
    return true;
}

static uint64_t elements_of(const like *s, const io_dataset *d, const place *p) {
    if (has_map(s, d)) return file_map_elements(&s->file, d, p->owner);
    uint64_t elements = is_owner(s, d, p);
    for (int i = 0; i < d->ndims && elements; i++)
        elements *= file_cut_points(cut_of(s, d, i), length_of(s, d, i), place_along(s, d, i, p));
    return elements;
}

/* ---------------------------------------------------------------- io_pattern */

static int check_product(const like *s, io_error *error) {
    char text[512] = "";
    uint64_t product = 1;
    for (int i = 0; i < s->file.schema.ndims; i++) {
        const file_cut *cut = &s->file.cuts[i];
        if (__builtin_mul_overflow(product, cut->procs, &product)) product = UINT64_MAX;
        if (cut->procs == 1) continue;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s=%" PRIu64, *text ? "," : "", s->file.dims[i].name,
                 cut->procs);
    }
    if (product == s->processes) return 0;
    return io_fail_usage(error,
                         "%s: %s gives %" PRIu64 " processes, this run has %" PRIu64
                         "; use mpiexec -n with that number, or give numbers whose product is %" PRIu64,
                         s->cut    ? "--cut"
                         : s->grid ? "--procs-grid"
                                   : "--like",
                         *text ? text : "1", product, s->processes, s->processes);
}

static int check_maps(const like *s, io_error *error) {
    const uint64_t theirs = s->file.maps->cut.lists;
    if (s->cut || s->grid)
        return io_fail_usage(error,
                             "%s: the decomposition map defines the partition; omit the option, or run "
                             "iogauge replay like without --list",
                             s->cut ? "--cut" : "--procs-grid");
    if (theirs == s->processes) return 0;
    return io_fail_usage(error,
                         "--like: the decomposition map is for %" PRIu64 " processes, this run has %" PRIu64
                         "; use mpiexec -n %" PRIu64,
                         theirs, s->processes, theirs);
}

static void set_block(const like *s, io_dataset *d) {
    if (has_map(s, d)) {
        file_map_block(&s->file, d);
        return;
    }
    for (int k = 0, last = last_of_runs(s, d); k < d->ndims; k++)
        d->block[k] = k < last ? 1 : file_cut_largest(cut_of(s, d, k), length_of(s, d, k)).longest;
}

static int cut_up(like *s, io_error *error) {
    file_schema *f = &s->file;
    if (s->grid && s->cut) return io_fail_usage(error, "--procs-grid and --cut are mutually exclusive");
    s->by_variable = f->nmaps || (s->cut && !strcmp(s->cut, LONGEST));
    s->spread.procs = s->processes;
    for (int i = 0; i < f->schema.ndims; i++) {
        f->cuts[i].procs = f->cuts[i].lists && !s->by_variable ? f->cuts[i].lists : 1;
        if (f->cuts[i].lists && s->by_variable)
            return io_fail_usage(error,
                                 "--cut " LONGEST
                                 ": dimension %s has a decomposition map; run iogauge replay like without it",
                                 f->dims[i].name);
    }
    if (s->by_variable) return f->nmaps ? check_maps(s, error) : 0;
    if (s->cut && file_cuts_parse(f, s->cut, error)) return -1;
    if (s->grid && file_cuts_grid(f, s->grid, error)) return -1;
    if (!s->cut && !s->grid) file_cuts_default(f, s->processes);
    return check_product(s, error);
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    like *s = state;
    s->processes = setup->processes;
    if (file_schema_read(s->path, &s->file, error) || cut_up(s, error)) return -1;
    s->most_parts = 1;
    for (int i = 0; i < s->file.schema.ndatasets; i++) {
        io_dataset *d = &s->file.datasets[i];
        uint64_t parts = parts_of(s, d);
        if (parts > MAX_PARTS)
            return io_fail_usage(error,
                                 "--cut: variable %s is split into more than %d pieces per process; use more "
                                 "points per cycle, or cyclic along a slower dimension",
                                 d->name, MAX_PARTS);
        if ((int)parts > s->most_parts) s->most_parts = (int)parts;
        set_block(s, d);
        d->repeated = (int)(s->repeated * REPEAT_GROUP + 0.5);
    }
    return 0;
}

static void release(void *state) { file_schema_release(&((like *)state)->file); }

static json_t *describe(const void *state) {
    const like *s = state;
    json_t *cuts = json_object();
    for (int i = 0; i < s->file.schema.ndims; i++) {
        const file_cut *cut = &s->file.cuts[i];
        const char *how = cut->lists ? "list" : cut->cycle ? "cyclic" : "block";
        if (cut->procs > 1)
            json_object_set_new(cuts, s->file.dims[i].name,
                                json_pack("{s:I,s:s,s:I}", "processes", (json_int_t)cut->procs, "how", how,
                                          "turn", (json_int_t)cut->cycle));
    }
    if (s->by_variable && !s->file.nmaps)
        json_object_set_new(cuts, "*",
                            json_pack("{s:I,s:s}", "processes", (json_int_t)s->processes, "how", LONGEST));
    for (int i = 0; i < s->file.nmaps; i++)
        json_object_set_new(cuts, s->file.maps[i].name,
                            json_pack("{s:I,s:s,s:i}", "processes", (json_int_t)s->processes, "how", "map",
                                      "dimensions", s->file.maps[i].ndims));
    return json_pack("{s:s,s:i,s:i,s:f,s:o}", "source", s->file.source, "dimensions", s->file.named,
                     "variables", s->file.schema.ndatasets, "compressibility", s->repeated, "cuts", cuts);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    (void)step;
    *out = ((const like *)state)->file.schema;
}

/* The base name of the user's file, without special characters. */
static void file_name(const void *state, uint64_t step, const char *extension, char *name, size_t size) {
    const char *source = ((const like *)state)->file.source, *slash = strrchr(source, '/');
    char stem[64];
    size_t n = 0;
    for (const char *c = slash ? slash + 1 : source; *c && *c != '.' && n < sizeof stem - 1; c++)
        stem[n++] = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", *c) ? *c : '_';
    stem[n] = 0;
    snprintf(name, size, "%s.%05" PRIu64 "%s", n ? stem : "file", step, extension);
}

static uint64_t transfers(const void *state) {
    return (uint64_t)((const like *)state)->file.schema.ndatasets;
}

static int most_parts(const void *state) { return ((const like *)state)->most_parts; }

static int parts(const void *state, uint64_t owner, uint64_t transfer, io_part *out) {
    const like *s = state;
    const io_dataset *d = &s->file.datasets[transfer];
    const place p = place_of(s, owner);
    uint64_t offset = 0;
    int last = last_of_runs(s, d), n = (int)parts_of(s, d);
    for (uint64_t i = 0; i < transfer; i++)
        offset += elements_of(s, &s->file.datasets[i], &p) * io_type_size(s->file.datasets[i].type);
    for (int i = 0; i < n; i++) {
        out[i] = (io_part){.dataset = (int)transfer, .offset = offset};
        if (!part_at(s, d, &p, last, (uint64_t)i, &out[i])) {
            memset(out[i].start, 0, sizeof out[i].start);
            memset(out[i].count, 0, sizeof out[i].count);
        }
        offset += io_part_bytes(&s->file.schema, &out[i]);
    }
    return n;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    const like *s = state;
    const place p = place_of(s, owner);
    uint64_t sum = 0;
    for (int i = 0; i < s->file.schema.ndatasets; i++)
        sum += elements_of(s, &s->file.datasets[i], &p) * io_type_size(s->file.datasets[i].type);
    return sum;
}

const io_pattern io_pattern_file = {
    .name = "file",
    .summary = "arrays like those in your own file, from iogauge replay like",
    .options = options,
    .state_size = sizeof(like),
    .most_parts = most_parts,
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .release = release,
    .describe = describe,
    .schema = schema,
    .file_name = file_name,
    .transfers = transfers,
    .parts = parts,
    .bytes = bytes,
};
