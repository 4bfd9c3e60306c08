/* SPDX-License-Identifier: BSD-3-Clause */
/* Mode multi: one cgp_..._multi_... call for the arrays of a zone, which the library forwards as one
 * H5Dwrite_multi or H5Dread_multi. This file and cgns_open.c work around bugs in CGNS 4.4 and 4.5:
 * - A process without data cannot take part: it makes HDF5's call itself, with the data sets that all
 *   processes opened collectively in `define`.
 * - The library allocates a word per array but stores one per dimension: fewer arrays go one at a time. */
#ifdef IOKERNEL_CGNS_MULTI
#include <string.h>

#include "methods/cgns_file.h"

#define PLACE f->id, f->in_base, f->zone[dataset]
#define MOST 16 /* arrays per call */

/* `n` data sets from `dataset` on, with the same range of each. */
typedef int mover(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data);

static int write_coordinates(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (!cgp_coord_multi_write_data(PLACE, &f->index[dataset], r->first, r->last, n, (const void **)data))
        return 0;
    return io_cgns_fail(f, "cgp_coord_multi_write_data");
}

static int read_coordinates(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (!cgp_coord_multi_read_data(PLACE, &f->index[dataset], r->first, r->last, n, data)) return 0;
    return io_cgns_fail(f, "cgp_coord_multi_read_data");
}

static int write_fields(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (!cgp_field_multi_write_data(PLACE, 1, &f->index[dataset], r->first, r->last, n, (const void **)data))
        return 0;
    return io_cgns_fail(f, "cgp_field_multi_write_data");
}

static int read_fields(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (!cgp_field_multi_read_data(PLACE, 1, &f->index[dataset], r->first, r->last, n, data)) return 0;
    return io_cgns_fail(f, "cgp_field_multi_read_data");
}

static int write_arrays(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cgp_array_multi_write_data(f->id, &f->index[dataset], r->first, r->last, n, (const void **)data))
        return 0;
    return io_cgns_fail(f, "cgp_array_multi_write_data");
}

static int read_arrays(cgns_file *f, int dataset, int n, const io_cgns_range *r, void **data) {
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cgp_array_multi_read_data(f->id, &f->index[dataset], r->first, r->last, n, data)) return 0;
    return io_cgns_fail(f, "cgp_array_multi_read_data");
}

/* There is no such call for connectivity. */
static const struct {
    mover *write, *read;
} movers[] = {
    [IO_COORDINATE] = {write_coordinates, read_coordinates},
    [IO_FIELD] = {write_fields,      read_fields     },
    [IO_USER_ARRAY] = {write_arrays,      read_arrays     },
};

/* Depends on the schema alone: all processes must get the same number. */
int io_cgns_parts_per_call(const cgns_file *f, const io_part *parts, int n) {
    const io_dataset *first = &f->base.schema->datasets[parts->dataset];
    int alike = 1;
    for (; alike < n && alike < MOST && parts[alike].dataset == parts->dataset + alike; alike++)
        if (first[alike].zone != first->zone || first[alike].role != first->role) break;
    return movers[first->role].write && alike >= first->ndims ? alike : 1;
}

static int take_part(cgns_file *f, int dataset, int n, bool writing) {
    hid_t types[MOST], spaces[MOST], transfer = H5Pcreate(H5P_DATASET_XFER);
    void *data[MOST] = {NULL};
    int made = 0, status = transfer < 0 || H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) < 0 ? -1 : 0;
    for (; !status && made < n; made++) {
        types[made] = io_hdf5_type(f->base.schema->datasets[dataset + made].type);
        spaces[made] = H5Dget_space(f->data[dataset + made]);
        if (spaces[made] < 0) break;
        if (H5Sselect_none(spaces[made]) < 0) status = -1;
    }
    if (made < n) status = -1;
    if (status)
        io_hdf5_fail(f->base.ctx, "H5Sselect_none", f->base.path);
    else if (writing ? H5Dwrite_multi((size_t)n, f->data + dataset, types, spaces, spaces, transfer,
                                      (const void **)data) < 0
                     : H5Dread_multi((size_t)n, f->data + dataset, types, spaces, spaces, transfer, data) < 0)
        status = io_hdf5_fail(f->base.ctx, writing ? "H5Dwrite_multi" : "H5Dread_multi", f->base.path);
    while (made > 0) H5Sclose(spaces[--made]);
    if (transfer >= 0) H5Pclose(transfer);
    return status;
}

int io_cgns_move_alike(cgns_file *f, const io_part *parts, int n, bool writing) {
    const io_schema *s = f->base.schema;
    const io_cgns_range range = io_cgns_range_of(s, parts);
    void *data[MOST];
    for (int i = 0; i < n; i++) {
        data[i] = parts[i].data;
        if (!memcmp(parts[i].start, parts->start, sizeof parts->start) &&
            !memcmp(parts[i].count, parts->count, sizeof parts->count))
            continue;
        return io_fail(f->base.ctx->error,
                       "mode multi: %s and %s need different ranges, but one call moves the same range of "
                       "all arrays; use mode collective: %s",
                       s->datasets[parts->dataset].name, s->datasets[parts[i].dataset].name, f->base.path);
    }
    f->base.calls++;
    if (!io_part_elements(s, parts)) return take_part(f, parts->dataset, n, writing);
    mover *move = writing ? movers[s->datasets[parts->dataset].role].write
                          : movers[s->datasets[parts->dataset].role].read;
    return move(f, parts->dataset, n, &range, data);
}

#endif
