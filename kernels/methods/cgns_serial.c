/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial (cg_) calls of one process: each creates a node and writes it. The speed-ups in the CGNS paper
 * are relative to these. */
#include "methods/cgns_file.h"

#define PLACE f->id, f->in_base, f->zone[dataset]
#define NODE &f->base.schema->datasets[dataset]

static int write_coordinate(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    if (!cg_coord_write(PLACE, io_cgns_type(d->type), d->node, r->data, &f->index[dataset])) return 0;
    return io_cgns_fail(f, "cg_coord_write");
}

static int read_coordinate(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    if (!cg_coord_read(PLACE, d->node, io_cgns_type(d->type), r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cg_coord_read");
}

static int write_elements(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    uint64_t corners = f->base.schema->dims[d->dim[1]].length;
    if (!cg_section_write(PLACE, d->node, io_cgns_element(corners), 1, r->last[1], 0, r->data,
                          &f->index[dataset]))
        return 0;
    return io_cgns_fail(f, "cg_section_write");
}

static int read_elements(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cg_elements_read(PLACE, f->index[dataset], r->data, NULL)) return 0;
    return io_cgns_fail(f, "cg_elements_read");
}

static int write_field(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    if (!cg_field_write(PLACE, 1, io_cgns_type(d->type), d->node, r->data, &f->index[dataset])) return 0;
    return io_cgns_fail(f, "cg_field_write");
}

static int read_field(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    if (!cg_field_read(PLACE, 1, d->node, io_cgns_type(d->type), r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cg_field_read");
}

static int write_array(cgns_file *f, int dataset, const io_cgns_range *r) {
    const io_dataset *d = NODE;
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cg_array_write(d->node, io_cgns_type(d->type), 1, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cg_array_write");
}

static int read_array(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    return cg_array_read(f->index[dataset], r->data) ? io_cgns_fail(f, "cg_array_read") : 0;
}

const io_cgns_role io_cgns_serial[] = {
    [IO_COORDINATE] = {"GridCoordinates/%s/ data",     NULL,                   NULL, io_cgns_find_coordinate, write_coordinate,
                       read_coordinate},
    [IO_CONNECTIVITY] = {"%s/ElementConnectivity/ data", NULL,                   NULL, io_cgns_find_section,    write_elements,
                       read_elements  },
    [IO_FIELD] = {"Solution/%s/ data",            io_cgns_make_solution,  NULL, io_cgns_find_field,      write_field,
                       read_field     },
    [IO_USER_ARRAY] = {"UserData/%s/ data",            io_cgns_make_user_data, NULL, io_cgns_find_array,      write_array,
                       read_array     },
};
