/* SPDX-License-Identifier: BSD-3-Clause */
/* The parallel (cgp_) calls: all processes create nodes, then each process moves its part. */
#include "methods/cgns_file.h"

#define PLACE f->id, f->in_base, f->zone[dataset]
#define NODE &f->base.schema->datasets[dataset]

static int make_coordinate(cgns_file *f, int dataset) {
    const io_dataset *d = NODE;
    f->base.calls++;
    if (!cgp_coord_write(PLACE, io_cgns_type(d->type), d->node, &f->index[dataset])) return 0;
    return io_cgns_fail(f, "cgp_coord_write");
}

static int write_coordinate(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_coord_write_data(PLACE, f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_coord_write_data");
}

static int read_coordinate(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_coord_read_data(PLACE, f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_coord_read_data");
}

static int make_section(cgns_file *f, int dataset) {
    const io_dataset *d = NODE;
    const io_dim *dims = f->base.schema->dims;
    f->base.calls++;
    if (!cgp_section_write(PLACE, d->node, io_cgns_element(dims[d->dim[1]].length), 1,
                           (cgsize_t)dims[d->dim[0]].length, 0, &f->index[dataset]))
        return 0;
    return io_cgns_fail(f, "cgp_section_write");
}

/* A range of elements, not of their nodes: the second, slower dimension. */
static int write_elements(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_elements_write_data(PLACE, f->index[dataset], r->first[1], r->last[1], r->data)) return 0;
    return io_cgns_fail(f, "cgp_elements_write_data");
}

static int read_elements(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_elements_read_data(PLACE, f->index[dataset], r->first[1], r->last[1], r->data)) return 0;
    return io_cgns_fail(f, "cgp_elements_read_data");
}

static int make_field(cgns_file *f, int dataset) {
    const io_dataset *d = NODE;
    f->base.calls++;
    if (!cgp_field_write(PLACE, 1, io_cgns_type(d->type), d->node, &f->index[dataset])) return 0;
    return io_cgns_fail(f, "cgp_field_write");
}

static int write_field(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_field_write_data(PLACE, 1, f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_field_write_data");
}

static int read_field(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (!cgp_field_read_data(PLACE, 1, f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_field_read_data");
}

static int make_array(cgns_file *f, int dataset) {
    const io_dataset *d = NODE;
    cgsize_t length = (cgsize_t)io_dataset_length(f->base.schema, dataset);
    f->base.calls += 2;
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cgp_array_write(d->node, io_cgns_type(d->type), 1, &length, &f->index[dataset])) return 0;
    return io_cgns_fail(f, "cgp_array_write");
}

static int write_array(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cgp_array_write_data(f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_array_write_data");
}

static int read_array(cgns_file *f, int dataset, const io_cgns_range *r) {
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (!cgp_array_read_data(f->index[dataset], r->first, r->last, r->data)) return 0;
    return io_cgns_fail(f, "cgp_array_read_data");
}

const io_cgns_role io_cgns_parallel[] = {
    [IO_COORDINATE] = {"GridCoordinates/%s/ data",     NULL,                   make_coordinate, io_cgns_find_coordinate,
                       write_coordinate,                                                                                              read_coordinate},
    [IO_CONNECTIVITY] = {"%s/ElementConnectivity/ data", NULL,                   make_section,    io_cgns_find_section,
                       write_elements,                                                                                                read_elements  },
    [IO_FIELD] = {"Solution/%s/ data",            io_cgns_make_solution,  make_field,      io_cgns_find_field,      write_field,
                       read_field                                                                                                                    },
    [IO_USER_ARRAY] = {"UserData/%s/ data",            io_cgns_make_user_data, make_array,      io_cgns_find_array,
                       write_array,                                                                                                   read_array     },
};
