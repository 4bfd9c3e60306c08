/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5: one HDF5 file, with a data set per array, through the MPI-IO driver.
 *
 * collective and independent are HDF5's transfer modes, with a call per data set; multi is collective with
 * one call for all data sets (HDF5 1.14); collective-metadata is collective with HDF5's collective metadata
 * settings; chunked uses chunks of a process's block; filtered adds filters. Hints beginning with hdf5_ are
 * properties of the library: see `own_hints`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/hdf5_file.h"
#include "methods/modes_of.h"

extern const io_method io_method_hdf5;

#define FILL_IN(h, call)                                                                                     \
    if (((h) = (call)) < 0) goto failed

typedef struct {
    io_file base;
    bool creating;
    hid_t file, transfer, independent; /* independent: for transfers without other processes */
    hid_t find;                        /* access list for H5Dopen2: how it reads metadata */
    hid_t *datasets, *types;           /* types: of the elements */
} hdf5_file;

/* Properties of the library, as hints. */
static int set_alignment(hid_t access, const char *value) {
    return H5Pset_alignment(access, 65536, strtoull(value, NULL, 10)) < 0 ? -1 : 0;
}
static int set_meta_block(hid_t access, const char *value) {
    return H5Pset_meta_block_size(access, strtoull(value, NULL, 10)) < 0 ? -1 : 0;
}
static const struct {
    const char *key;
    int (*set)(hid_t access, const char *value); /* a number */
} own_hints[] = {
    /* hdf5_chunk is a data set property: see make_dataset */
    {"hdf5_alignment",       set_alignment },
    {"hdf5_meta_block_size", set_meta_block},
};

/* known_hints.def has checked names and values. */
static int check_hint(const io_hint *hint, io_mode mode, io_error *error) {
    if (io_hdf5_is_filter_hint(hint->key)) return io_hdf5_check_filter_hint(hint, mode, error);
    return strcmp(hint->key, IO_HDF5_METADATA) ? 0 : io_hdf5_check_metadata(hint, mode, error);
}

/* MPI_COMM_SELF is for a method that asks for offsets of data sets and moves no data. Without MPI-IO that
 * takes a third of the time; but then HDF5 locks the file, which not every file system supports. */
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
static bool by_mpi(const io_ctx *ctx) { return ctx->comm != MPI_COMM_SELF; }
static int leave_unlocked(hid_t access) { return H5Pset_file_locking(access, false, true) < 0 ? -1 : 0; }
#else
static bool by_mpi(const io_ctx *ctx) { return (void)ctx, true; }
static int leave_unlocked(hid_t access) { return (void)access, 0; }
#endif

static hid_t access_list(const io_ctx *ctx) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    const char *metadata = by_mpi(ctx) ? io_hdf5_metadata(ctx) : NULL;
    if (access < 0) return -1;
    if (by_mpi(ctx) ? H5Pset_fapl_mpio(access, ctx->comm, ctx->info) < 0 : leave_unlocked(access)) return -1;
    if (metadata && io_hdf5_set_metadata(access, metadata)) return -1;
    for (size_t i = 0; i < sizeof own_hints / sizeof *own_hints; i++) {
        const char *value = io_hint_value(ctx->hints, own_hints[i].key);
        if (value && own_hints[i].set(access, value)) return -1;
    }
    return access;
}

/* For H5Dopen2: HDF5 1.10.5 to 1.10.8, 1.12.0 and 1.12.1 ignore the file access list's setting for reading
 * metadata (HDFFV-11260), but respect a data set's. */
static hid_t finding_list(const io_ctx *ctx) {
    const char *metadata = io_hdf5_metadata(ctx);
    hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    if (list >= 0 && metadata && io_hdf5_find_metadata(list, metadata)) {
        H5Pclose(list);
        return -1;
    }
    return list;
}

/* Without fill values: the run writes every byte. */
static hid_t make_dataset(const hdf5_file *f, int dataset) {
    const io_schema *schema = f->base.schema;
    const io_dataset *d = &schema->datasets[dataset];
    hsize_t shape[IO_MAX_DIMS];
    hid_t space = -1, create = -1, groups = -1, made = -1;
    bool scalar = io_is_scalar(schema, d), block = f->base.ctx->mode == IO_CHUNKED;
    if (io_hint_value(f->base.ctx->hints, "hdf5_chunk")) block = true;
    const int rank = io_rank(d);
    for (int i = 0; i < rank; i++) shape[i] = schema->dims[d->dim[i]].length;
    FILL_IN(space, scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape, NULL));
    FILL_IN(groups, H5Pcreate(H5P_LINK_CREATE));
    if (H5Pset_create_intermediate_group(groups, 1) < 0) goto failed;
    FILL_IN(create, H5Pcreate(H5P_DATASET_CREATE));
    if (H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0) goto failed;
    if (!by_mpi(f->base.ctx) && H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) < 0) goto failed;
    bool filtered = io_hdf5_has_filters(f->base.ctx, schema, d);
    if (filtered && !d->chunk[0]) block = true;
    if (!scalar && (block || d->chunk[0])) {
        hsize_t chunk[IO_MAX_DIMS];
        for (int i = 0; i < rank; i++) chunk[i] = block ? d->block[i] : d->chunk[i];
        if (H5Pset_chunk(create, rank, chunk) < 0) goto failed;
        if (io_hdf5_set_filters(create, f->base.ctx, schema, d, chunk)) goto failed;
    }
    made = H5Dcreate2(f->file, d->name, f->types[dataset], space, groups, create, H5P_DEFAULT);
failed:
    if (groups >= 0) H5Pclose(groups);
    if (space >= 0) H5Sclose(space);
    if (create >= 0) H5Pclose(create);
    return made;
}

/* Closing a data set may write what HDF5 still holds. */
static int release(hdf5_file *f) {
    int status = 0;
    for (int i = 0; f->datasets && i < f->base.schema->ndatasets; i++)
        if (f->datasets[i] >= 0 && H5Dclose(f->datasets[i]) < 0)
            status = io_hdf5_fail(f->base.ctx, "H5Dclose", f->base.path);
    for (int i = 0; f->datasets && i < f->base.schema->ndatasets; i++)
        if (f->types[i] >= 0) H5Tclose(f->types[i]);
    if (f->transfer >= 0) H5Pclose(f->transfer);
    if (f->independent >= 0) H5Pclose(f->independent);
    if (f->find >= 0) H5Pclose(f->find);
    free(f->datasets);
    return status;
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* we print the messages, once */
    char name[IO_MAX_PATH + 64];
    snprintf(name, sizeof name, "%s%s", by_mpi(ctx) ? ctx->prefix : "", path);
    hdf5_file *f = io_file_new(sizeof *f, &io_method_hdf5, ctx, path, schema);
    if (!f) return -1;
    f->file = f->transfer = f->independent = f->find = -1;
    f->creating = creating;
    const char *call = creating ? "H5Fcreate" : "H5Fopen";
    hid_t access = access_list(ctx);
    f->datasets = malloc((size_t)schema->ndatasets * 2 * sizeof *f->datasets);
    for (int i = 0; f->datasets && i < 2 * schema->ndatasets; i++) f->datasets[i] = -1;
    if (f->datasets) f->types = f->datasets + schema->ndatasets;
    if (access < 0 || !f->datasets) goto failed;
    f->file = creating ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                       : H5Fopen(name, H5F_ACC_RDONLY, access);
    if (f->file < 0) goto failed;
    call = "H5Pset_dxpl_mpio";
    f->transfer = H5Pcreate(H5P_DATASET_XFER);
    f->independent = H5Pcreate(H5P_DATASET_XFER);
    if (f->transfer < 0 || f->independent < 0 ||
        H5Pset_dxpl_mpio(f->independent, H5FD_MPIO_INDEPENDENT) < 0 ||
        H5Pset_dxpl_mpio(f->transfer, H5FD_MPIO_COLLECTIVE) < 0)
        goto failed;
    call = "H5Pset_all_coll_metadata_ops";
    if ((f->find = finding_list(ctx)) < 0) goto failed;
    H5Pclose(access);
    *file = &f->base;
    return 0;
failed:
    io_hdf5_fail(ctx, call, path);
    if (access >= 0) H5Pclose(access);
    release(f);
    free(f);
    return -1;
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
}

static int define(io_file *file) {
    hdf5_file *f = (hdf5_file *)file;
    const io_schema *schema = file->schema;
    for (int i = 0; i < schema->ndatasets; i++) {
        file->calls++;
        f->types[i] = io_hdf5_element(schema, &schema->datasets[i]);
        if (f->types[i] < 0) return io_hdf5_fail(file->ctx, "H5Tcreate", file->path);
        f->datasets[i] =
            f->creating ? make_dataset(f, i) : H5Dopen2(f->file, schema->datasets[i].name, f->find);
        if (f->datasets[i] < 0)
            return io_hdf5_fail(file->ctx, f->creating ? "H5Dcreate2" : "H5Dopen2", file->path);
    }
    if (f->creating && io_hdf5_attributes(f->file, f->datasets, schema))
        return io_hdf5_fail(file->ctx, "H5Awrite", file->path);
    return 0;
}

/* Memory and file selection of parts of one data set. For a single part, memory has the part's own shape:
 * with any other, HDF5 maps chunks element by element. Several parts are in the same order in memory as in
 * the file. */
static int select_parts(const hdf5_file *f, const io_part *parts, int n, hid_t *memory, hid_t *space) {
    const io_dataset *d = &f->base.schema->datasets[parts->dataset];
    hsize_t start[IO_MAX_DIMS], count[IO_MAX_DIMS], all = 0;
    const int rank = io_rank(d);
    *space = H5Dget_space(f->datasets[parts->dataset]);
    if (*space < 0 || H5Sselect_none(*space) < 0) return -1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < rank; k++) {
            start[k] = parts[i].start[k];
            count[k] = parts[i].count[k];
        }
        uint64_t elements =
            io_part_elements(f->base.schema, &parts[i]) / io_element_values(f->base.schema, d);
        H5S_seloper_t how = all ? H5S_SELECT_OR : H5S_SELECT_SET;
        if (elements && io_is_scalar(f->base.schema, d) && H5Sselect_all(*space) < 0) return -1;
        if (elements && !io_is_scalar(f->base.schema, d) &&
            H5Sselect_hyperslab(*space, how, start, NULL, count, NULL) < 0)
            return -1;
        all += elements;
    }
    /* HDF5 before 1.8.7 has no dimensions of 0. */
    const hsize_t some = all ? all : 1;
    *memory = n == 1 && all ? H5Screate_simple(rank, count, NULL) : H5Screate_simple(1, &some, NULL);
    if (*memory < 0) return -1;
    return !all && H5Sselect_none(*memory) < 0 ? -1 : 0;
}

static uint64_t elements_of(const hdf5_file *f, const io_part *parts, int n) {
    uint64_t all = 0;
    for (int i = 0; i < n; i++) all += io_part_elements(f->base.schema, &parts[i]);
    return all;
}

/* Parts of one data set, in one call; skipped if there is no data and the call is not collective. */
static int move_same(hdf5_file *f, const io_part *parts, int n, bool writing) {
    const io_dataset *d = &f->base.schema->datasets[parts->dataset];
    hid_t memory = -1, space = -1, type = f->types[parts->dataset];
    bool independent = d->small || f->base.ctx->mode == IO_INDEPENDENT;
    hid_t transfer = independent ? f->independent : f->transfer, dataset = f->datasets[parts->dataset];
    if (independent && !io_hdf5_metadata(f->base.ctx) && !elements_of(f, parts, n)) return 0;
    herr_t code = select_parts(f, parts, n, &memory, &space);
    f->base.calls++;
    if (code >= 0 && writing)
        code = H5Dwrite(dataset, type, memory, space, transfer, parts->data);
    else if (code >= 0)
        code = H5Dread(dataset, type, memory, space, transfer, parts->data);
    int status = code < 0 ? io_hdf5_fail(f->base.ctx, writing ? "H5Dwrite" : "H5Dread", f->base.path) : 0;
    if (memory >= 0) H5Sclose(memory); /* after io_hdf5_fail, because these clear HDF5's error stack */
    if (space >= 0) H5Sclose(space);
    return status;
}

#if H5_VERSION_GE(1, 10, 2)
#define LACKS_OF_FILTERED NULL
#define LACKING 0
#else
#define LACKS_OF_FILTERED "HDF5 1.10.2, which writes filtered chunks in parallel"
#define LACKING (IO_FILTERED_BIT | (IO_HDF5_HAS_METADATA ? 0 : IO_COLLECTIVE_METADATA_BIT))
#endif

/* Older releases move a chunk by collective calls only if they were configured to trust MPI's types. */
#if H5_VERSION_GE(1, 8, 8) || defined H5_MPI_COMPLEX_DERIVED_DATATYPE_WORKS
#define LACKS_OF_CHUNKED NULL
#define NO_CHUNKED 0
#else
#define LACKS_OF_CHUNKED "HDF5 1.8.8, which moves chunks by collective calls"
#define NO_CHUNKED IO_CHUNKED_BIT
#endif

#if H5_VERSION_GE(1, 14, 0)
#define LACKS_OF_MULTI NULL
#define MODES IO_MODES_OF_hdf5

/* Arguments of a call for several data sets, one item for each. */
typedef struct {
    hid_t *datasets, *types, *memory, *spaces;
    union { /* HDF5's types for writing and reading */
        const void **from;
        void **to;
    } data;
    size_t n;
} several;

static int call_several(hdf5_file *f, const several *s, bool writing) {
    f->base.calls++;
    herr_t code =
        writing ? H5Dwrite_multi(s->n, s->datasets, s->types, s->memory, s->spaces, f->transfer, s->data.from)
                : H5Dread_multi(s->n, s->datasets, s->types, s->memory, s->spaces, f->transfer, s->data.to);
    return code < 0 ? io_hdf5_fail(f->base.ctx, writing ? "H5Dwrite_multi" : "H5Dread_multi", f->base.path)
                    : 0;
}

static int add_one(hdf5_file *f, several *s, const io_part *parts, int n) {
    const size_t at = s->n++;
    s->memory[at] = s->spaces[at] = -1;
    s->datasets[at] = f->datasets[parts->dataset];
    s->types[at] = f->types[parts->dataset];
    s->data.to[at] = parts->data;
    return select_parts(f, parts, n, &s->memory[at], &s->spaces[at])
               ? io_hdf5_fail(f->base.ctx, "H5Sselect_hyperslab", f->base.path)
               : 0;
}

/* All data sets in one call, except small ones, which each process moves independently. */
static int move_several(hdf5_file *f, const io_part *parts, int n, bool writing) {
    hid_t *ids = malloc((size_t)n * 4 * sizeof *ids);
    void **data = malloc((size_t)n * sizeof *data);
    several s = {ids, ids + n, ids + 2 * n, ids + 3 * n, {.to = data}, 0};
    int status = ids && data ? 0 : io_fail(f->base.ctx->error, "out of memory for a call of %d parts", n);
    for (int i = 0, same; i < n && !status; i += same) {
        same = io_leading_parts(parts + i, n - i);
        bool small = f->base.schema->datasets[parts[i].dataset].small;
        status = small ? move_same(f, parts + i, same, writing) : add_one(f, &s, parts + i, same);
    }
    if (!status && s.n) status = call_several(f, &s, writing);
    for (size_t i = 0; i < s.n; i++) {
        if (s.memory[i] >= 0) H5Sclose(s.memory[i]);
        if (s.spaces[i] >= 0) H5Sclose(s.spaces[i]);
    }
    free(ids);
    free(data);
    return status;
}
#else
#define LACKS_OF_MULTI "HDF5 1.14, whose calls take several data sets"
#define MODES (IO_MODES_OF_hdf5 & ~IO_MULTI_BIT)

static int move_several(hdf5_file *f, const io_part *parts, int n, bool writing) {
    (void)parts, (void)n, (void)writing;
    return io_fail(f->base.ctx->error, "mode multi: this build lacks " LACKS_OF_MULTI);
}
#endif

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    if (file->ctx->mode == IO_MULTI) return move_several((hdf5_file *)file, parts, n, writing);
    for (int i = 0, same; i < n; i += same) {
        same = io_leading_parts(parts + i, n - i);
        if (move_same((hdf5_file *)file, parts + i, same, writing)) return -1;
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) { return io_hdf5_sync(file, ((hdf5_file *)file)->file); }

static int close_file(io_file *file) {
    hdf5_file *f = (hdf5_file *)file;
    file->calls++;
    int status = release(f);
    if (H5Fclose(f->file) < 0) status = io_hdf5_fail(file->ctx, "H5Fclose", file->path);
    free(f);
    return status;
}

static int hints(io_file *file, MPI_Info *used) {
    return io_hdf5_hints(file, ((hdf5_file *)file)->file, used);
}

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    haddr_t at = H5Dget_offset(((hdf5_file *)file)->datasets[dataset]);
    if (at == HADDR_UNDEF) return -1; /* chunked: not contiguous */
    *offset = at;
    return 0;
}

static void stored(io_file *file, uint64_t *bytes) {
    *bytes += io_hdf5_stored(((hdf5_file *)file)->datasets, file->schema);
}

static void version(char *text, size_t size) {
    unsigned major = 0, minor = 0, release_ = 0;
    H5get_libversion(&major, &minor, &release_);
    snprintf(text, size, "%u.%u.%u", major, minor, release_);
}

const io_method io_method_hdf5 = {
    .name = "hdf5",
    .summary = "one HDF5 file through its MPI-IO driver",
    .extension = ".h5",
    .modes = MODES & ~(unsigned)(LACKING | NO_CHUNKED),
    .default_mode = IO_COLLECTIVE,
    .lacks = {[IO_COLLECTIVE_METADATA] = IO_HDF5_HAS_METADATA ? NULL : IO_HDF5_NO_METADATA,
              [IO_CHUNKED] = LACKS_OF_CHUNKED,
              [IO_FILTERED] = LACKS_OF_FILTERED,
              [IO_MULTI] = LACKS_OF_MULTI},
    .traits = IO_TAKES_HINTS,
    .create = create,
    .open = open_existing,
    .define = define,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .hints = hints,
    .dataset_offset = dataset_offset,
    .stored = stored,
    .check_schema = io_hdf5_check_schema,
    .check_hint = check_hint,
    .version = version,
};
