/* SPDX-License-Identifier: BSD-3-Clause */
/* cgns: one CGNS file on HDF5, through the CGNS library.
 *
 * collective and independent are the modes of cgp_pio_mode: parallel (cgp_) calls, which first create all
 * nodes of the file (define), then write and read them in parts. multi is collective, with one call for the
 * arrays of a zone; collective-metadata is collective with HDF5's collective metadata settings
 * (cgns_metadata.c). serial: one process and the serial (cg_) calls, each of which creates its node and
 * writes it. All zones are in one base; a zone's fields are in one solution, its user-defined arrays in one
 * UserDefinedData_t.
 *
 * The library keeps its communicator, hints and mode in global state: they are set before each open. */
#include "methods/cgns_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/modes_of.h"

extern const io_method io_method_cgns;

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return io_cgns_start(&io_method_cgns, ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return io_cgns_start(&io_method_cgns, ctx, path, schema, false, file);
}

static const io_cgns_role *role_of(const cgns_file *f, int dataset) {
    return &(f->serial ? io_cgns_serial : io_cgns_parallel)[f->base.schema->datasets[dataset].role];
}

/* ---------------------------------------------------------------- zones */

/* Vertices and cells of a data set's zone: structured zones have both along each edge, fastest first. */
static int sizes_of(const cgns_file *f, int dataset, cgsize_t size[9]) {
    const io_schema *s = f->base.schema;
    const io_dataset *d = &s->datasets[dataset];
    memset(size, 0, 9 * sizeof *size);
    for (int i = 0; i < d->ndims; i++) {
        size[i] = (cgsize_t)s->dims[d->dim[d->ndims - 1 - i]].length;
        if (d->ndims > 1) size[d->ndims + i] = size[i] - 1;
    }
    for (int i = dataset; i < s->ndatasets && s->datasets[i].zone == d->zone; i++)
        if (s->datasets[i].role == IO_CONNECTIVITY) size[1] = (cgsize_t)s->dims[s->datasets[i].dim[0]].length;
    return d->ndims;
}

static int make_zone(cgns_file *f, int dataset) {
    char name[IO_CGNS_NAME];
    cgsize_t size[9];
    bool structured = sizes_of(f, dataset, size) > 1;
    snprintf(name, sizeof name, IO_CGNS_ZONE, f->base.schema->datasets[dataset].zone + 1);
    f->base.calls++;
    if (cg_zone_write(f->id, f->in_base, name, size,
                      structured ? CGNS_ENUMV(Structured) : CGNS_ENUMV(Unstructured), &f->zone[dataset]))
        return io_cgns_fail(f, "cg_zone_write");
    return 0;
}

/* The library sorts zones by name, which is the order of ours. */
static int find_zone(cgns_file *f, int dataset) {
    char name[IO_CGNS_NAME], expected[IO_CGNS_NAME];
    cgsize_t size[9], found[9] = {0};
    int n = sizes_of(f, dataset, size);
    f->zone[dataset] = f->base.schema->datasets[dataset].zone + 1;
    snprintf(expected, sizeof expected, IO_CGNS_ZONE, f->zone[dataset]);
    f->base.calls++;
    if (cg_zone_read(f->id, f->in_base, f->zone[dataset], name, found))
        return io_cgns_fail(f, "cg_zone_read");
    if (!strcmp(name, expected) && !memcmp(size, found, (n > 1 ? 6 : 2) * sizeof *size)) return 0;
    return io_fail(
        f->base.ctx->error,
        "cg_zone_read: zone %d is %s with %lld, %lld, %lld vertices and cells; expected %s with %lld, "
        "%lld, %lld from the options: %s",
        f->zone[dataset], name, (long long)found[0], (long long)found[1], (long long)found[2], expected,
        (long long)size[0], (long long)size[1], (long long)size[2], f->base.path);
}

/* ---------------------------------------------------------------- the file */

static int make_base(cgns_file *f) {
    f->base.calls++;
    return cg_base_write(f->id, IO_CGNS_BASE, 3, 3, &f->in_base) ? io_cgns_fail(f, "cg_base_write") : 0;
}

static int find_base(cgns_file *f) {
    char name[IO_CGNS_NAME];
    int bases = 0, zones = 0, cell_dimension, dimension;
    io_error *error = f->base.ctx->error;
    f->in_base = 1;
    f->base.calls += 3;
    if (cg_nbases(f->id, &bases)) return io_cgns_fail(f, "cg_nbases");
    if (bases != 1) return io_fail(error, "cg_nbases: %d bases; expected one: %s", bases, f->base.path);
    if (cg_base_read(f->id, 1, name, &cell_dimension, &dimension)) return io_cgns_fail(f, "cg_base_read");
    if (cg_nzones(f->id, 1, &zones)) return io_cgns_fail(f, "cg_nzones");
    int expected = f->base.schema->datasets[f->base.schema->ndatasets - 1].zone + 1;
    if (zones == expected) return 0;
    return io_fail(error, "cg_nzones: %d zones; expected %d from the options: %s", zones, expected,
                   f->base.path);
}

/* Is it the first data set of its zone, or of its role in the zone? */
static bool is_first(const io_schema *s, int dataset, bool of_role) {
    for (int i = dataset - 1; i >= 0 && s->datasets[i].zone == s->datasets[dataset].zone; i--)
        if (!of_role || s->datasets[i].role == s->datasets[dataset].role) return false;
    return true;
}

/* The underlying HDF5 file, which the caller closes; -1 with a message. */
static hid_t hdf5_of(cgns_file *f) {
    double root;
    hid_t group;
    if (cg_root_id(f->id, &root)) return io_cgns_fail(f, "cg_root_id");
    memcpy(&group, &root, sizeof group); /* the library keeps HDF5 identifiers in doubles */
    hid_t id = H5Iget_file_id(group);
    return id < 0 ? io_hdf5_fail(f->base.ctx, "H5Iget_file_id", f->base.path) : id;
}

/* The identifier of hdf5_of is no longer needed. */
static int leave_hdf5(const cgns_file *f, hid_t id, int status) {
    return id >= 0 && H5Fclose(id) < 0 ? io_hdf5_fail(f->base.ctx, "H5Fclose", f->base.path) : status;
}

/* Where SIDS places it. In mode serial it does not exist before it is written. */
static hid_t open_data(cgns_file *f, hid_t in, int dataset) {
    const io_dataset *d = &f->base.schema->datasets[dataset];
    char path[IO_MAX_PATH];
    snprintf(path, sizeof path, "/" IO_CGNS_BASE "/" IO_CGNS_ZONE "/", d->zone + 1);
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, role_of(f, dataset)->path, d->node);
    return H5Dopen2(in, path, H5P_DEFAULT);
}

static int open_all(cgns_file *f) {
    hid_t id = hdf5_of(f);
    int status = id < 0 ? -1 : 0;
    for (int i = 0; !status && i < f->base.schema->ndatasets; i++) {
        f->data[i] = open_data(f, id, i);
        if (f->data[i] < 0) status = io_hdf5_fail(f->base.ctx, "H5Dopen2", f->base.path);
    }
    return leave_hdf5(f, id, status);
}

static int define(io_file *file) {
    cgns_file *f = (cgns_file *)file;
    const io_schema *s = file->schema;
    if (f->creating ? make_base(f) : find_base(f)) return -1;
    for (int i = 0; i < s->ndatasets; i++) {
        const io_cgns_role *role = role_of(f, i);
        if (!is_first(s, i, false))
            f->zone[i] = f->zone[i - 1];
        else if (f->creating ? make_zone(f, i) : find_zone(f, i))
            return -1;
        if (f->creating && role->make_parent && is_first(s, i, true) && role->make_parent(f, i)) return -1;
        if (f->creating ? role->make && role->make(f, i) : role->find(f, i)) return -1;
    }
    return f->data ? open_all(f) : 0;
}

/* An independent call without data can be skipped, except that for reading metadata the library asks HDF5 for
 * collective calls, unless told otherwise. */
static bool may_skip(const cgns_file *f) {
    const char *metadata = io_hdf5_metadata(f->base.ctx);
    if (f->base.ctx->mode != IO_INDEPENDENT) return false;
    return f->creating ? !metadata || strcmp(metadata, "true") : metadata && !strcmp(metadata, "false");
}

static int move_one(cgns_file *f, const io_part *part, bool writing) {
    const io_cgns_range range = io_cgns_range_of(f->base.schema, part);
    const io_cgns_role *role = role_of(f, part->dataset);
    if (!range.data && may_skip(f)) return 0;
    f->base.calls++;
    return writing ? role->write(f, part->dataset, &range) : role->read(f, part->dataset, &range);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    cgns_file *f = (cgns_file *)file;
    for (int i = 0, alike = 1; i < n; i += alike) {
#ifdef IOKERNEL_CGNS_MULTI
        if (f->data) alike = io_cgns_parts_per_call(f, parts + i, n - i);
        if (alike > 1 && io_cgns_move_alike(f, parts + i, alike, writing)) return -1;
#endif
        if (alike == 1 && move_one(f, parts + i, writing)) return -1;
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, true); }
static int read_parts(io_file *file, const io_part *parts, int n) { return move(file, parts, n, false); }

static int sync_file(io_file *file) {
    hid_t id = hdf5_of((cgns_file *)file);
    return leave_hdf5((cgns_file *)file, id, id < 0 ? -1 : io_hdf5_sync(file, id));
}

static int hints(io_file *file, MPI_Info *used) {
    hid_t id = hdf5_of((cgns_file *)file);
    return leave_hdf5((cgns_file *)file, id, id < 0 ? -1 : io_hdf5_hints(file, id, used));
}

static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    cgns_file *f = (cgns_file *)file;
    haddr_t at = HADDR_UNDEF;
    hid_t id = hdf5_of(f), data = id < 0 ? -1 : open_data(f, id, dataset);
    if (data >= 0) {
        at = H5Dget_offset(data);
        if (H5Dclose(data) < 0) at = HADDR_UNDEF;
    }
    *offset = at;
    return leave_hdf5(f, id, at == HADDR_UNDEF ? -1 : 0);
}

static int close_file(io_file *file) {
    cgns_file *f = (cgns_file *)file;
    int status = 0;
    file->calls++;
    for (int i = 0; f->data && i < file->schema->ndatasets; i++)
        if (f->data[i] > 0 && H5Dclose(f->data[i]) < 0)
            status = io_hdf5_fail(file->ctx, "H5Dclose", file->path);
    int code = f->serial ? cg_close(f->id) : cgp_close(f->id);
    if (code) status = io_cgns_fail(f, f->serial ? "cg_close" : "cgp_close");
    io_cgns_release(f);
    return status;
}

static void version(char *text, size_t size) {
    snprintf(text, size, "%d.%d.%d", CGNS_VERSION / 1000, CGNS_VERSION / 100 % 10, CGNS_VERSION / 10 % 10);
}

/* A mode, or what this build lacks for it. */
#ifdef IOKERNEL_CGNS_MULTI
#define LACKS_MULTI 0
#define NO_MULTI NULL
#else
#define LACKS_MULTI IO_MULTI_BIT
#define NO_MULTI "calls for several arrays (CGNS 4.4 on HDF5 1.14, or newer)"
#endif
#ifdef IOKERNEL_CGNS_METADATA
#define LACKS_METADATA 0
#define NO_METADATA NULL
#else
#define LACKS_METADATA IO_COLLECTIVE_METADATA_BIT
#define NO_METADATA "a shared HDF5, 1.10 or newer"
#endif

const io_method io_method_cgns = {
    .name = "cgns",
    .summary = "one CGNS file on HDF5 through the CGNS library",
    .extension = ".cgns",
    .modes = IO_MODES_OF_cgns & ~(LACKS_MULTI | LACKS_METADATA),
    .lacks = {[IO_COLLECTIVE_METADATA] = NO_METADATA, [IO_MULTI] = NO_MULTI},
    .default_mode = IO_COLLECTIVE,
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
    .check_schema = io_cgns_check_schema,
    .check_hint = io_cgns_check_hint,
    .version = version,
};
