/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "methods/cgns_file.h"

int io_cgns_fail(const cgns_file *f, const char *call) {
    return io_fail_library(f->base.ctx->error, call, f->base.path, cg_get_error());
}

CGNS_ENUMT(DataType_t) io_cgns_type(io_type type) {
    switch (type) {
    case IO_INT32: return CGNS_ENUMV(Integer);
    case IO_INT64: return CGNS_ENUMV(LongInteger);
    case IO_FLOAT32: return CGNS_ENUMV(RealSingle);
    case IO_FLOAT64: return CGNS_ENUMV(RealDouble);
    default: return CGNS_ENUMV(DataTypeNull);
    }
}

CGNS_ENUMT(ElementType_t) io_cgns_element(uint64_t nodes) {
    switch (nodes) {
    case 4: return CGNS_ENUMV(TETRA_4);
    case 5: return CGNS_ENUMV(PYRA_5);
    case 6: return CGNS_ENUMV(PENTA_6);
    case 8: return CGNS_ENUMV(HEXA_8);
    default: return CGNS_ENUMV(ElementTypeNull);
    }
}

io_cgns_range io_cgns_range_of(const io_schema *schema, const io_part *part) {
    const int ndims = schema->datasets[part->dataset].ndims;
    io_cgns_range range = {.data = io_part_elements(schema, part) ? part->data : NULL};
    for (int k = 0; k < ndims; k++) {
        range.first[k] = (cgsize_t)part->start[ndims - 1 - k] + 1;
        range.last[k] = range.first[k] + (cgsize_t)part->count[ndims - 1 - k] - 1;
    }
    return range;
}

/* ---------------------------------------------------------------- parent nodes */

int io_cgns_make_solution(cgns_file *f, int dataset) {
    int solution;
    f->base.calls++;
    if (!cg_sol_write(f->id, f->in_base, f->zone[dataset], "Solution", CGNS_ENUMV(Vertex), &solution))
        return 0;
    return io_cgns_fail(f, "cg_sol_write");
}

int io_cgns_go_to_user_data(cgns_file *f, int dataset) {
    if (!cg_goto(f->id, f->in_base, "Zone_t", f->zone[dataset], "UserDefinedData_t", 1, "end")) return 0;
    return io_cgns_fail(f, "cg_goto UserDefinedData_t");
}

int io_cgns_make_user_data(cgns_file *f, int dataset) {
    f->base.calls += 2;
    if (cg_goto(f->id, f->in_base, "Zone_t", f->zone[dataset], "end")) return io_cgns_fail(f, "cg_goto");
    return cg_user_data_write("UserData") ? io_cgns_fail(f, "cg_user_data_write") : 0;
}

/* ---------------------------------------------------------------- finding nodes */

typedef struct {
    char name[IO_CGNS_NAME];
    CGNS_ENUMT(DataType_t) type;
    cgsize_t length; /* 0: the library has checked it against the zone */
} node;

/* Describes node number k, from 1. */
typedef int look_at(cgns_file *f, int dataset, int k, node *found);

static int look_at_coordinate(cgns_file *f, int dataset, int k, node *found) {
    return cg_coord_info(f->id, f->in_base, f->zone[dataset], k, &found->type, found->name);
}

static int look_at_field(cgns_file *f, int dataset, int k, node *found) {
    return cg_field_info(f->id, f->in_base, f->zone[dataset], 1, k, &found->type, found->name);
}

static int look_at_array(cgns_file *f, int dataset, int k, node *found) {
    cgsize_t lengths[12];
    int dims;
    (void)f;
    (void)dataset;
    if (cg_array_info(k, found->name, &found->type, &dims, lengths)) return -1;
    for (found->length = 1; dims > 0; dims--) found->length *= lengths[dims - 1];
    return 0;
}

/* Finds a node by name and checks its type: the library would read whatever type the file has. */
static int search(cgns_file *f, int dataset, int n, look_at *look, const char *call) {
    const io_dataset *d = &f->base.schema->datasets[dataset];
    cgsize_t length = (cgsize_t)io_dataset_length(f->base.schema, dataset);
    for (int k = 1; k <= n; k++) {
        node found = {.length = 0};
        f->base.calls++;
        if (look(f, dataset, k, &found)) return io_cgns_fail(f, call);
        if (strcmp(found.name, d->node)) continue;
        f->index[dataset] = k;
        if (found.type == io_cgns_type(d->type) && (!found.length || found.length == length)) return 0;
        return io_fail(f->base.ctx->error,
                       "%s: %s has another type or length than the options give; expected %s[%lld]: %s", call,
                       d->node, io_type_name(d->type), (long long)length, f->base.path);
    }
    return io_fail(f->base.ctx->error, "%s: no %s in zone %d; expected a file written by iokernel: %s", call,
                   d->node, f->zone[dataset], f->base.path);
}

int io_cgns_find_coordinate(cgns_file *f, int dataset) {
    int n = 0;
    f->base.calls++;
    if (cg_ncoords(f->id, f->in_base, f->zone[dataset], &n)) return io_cgns_fail(f, "cg_ncoords");
    return search(f, dataset, n, look_at_coordinate, "cg_coord_info");
}

int io_cgns_find_field(cgns_file *f, int dataset) {
    int n = 0;
    f->base.calls++;
    if (cg_nfields(f->id, f->in_base, f->zone[dataset], 1, &n)) return io_cgns_fail(f, "cg_nfields");
    return search(f, dataset, n, look_at_field, "cg_field_info");
}

int io_cgns_find_array(cgns_file *f, int dataset) {
    int n = 0;
    f->base.calls += 2;
    if (io_cgns_go_to_user_data(f, dataset)) return -1;
    if (cg_narrays(&n)) return io_cgns_fail(f, "cg_narrays");
    return search(f, dataset, n, look_at_array, "cg_array_info");
}

int io_cgns_find_section(cgns_file *f, int dataset) {
    const io_schema *s = f->base.schema;
    const io_dataset *d = &s->datasets[dataset];
    char name[IO_CGNS_NAME] = "";
    CGNS_ENUMT(ElementType_t) type, expected = io_cgns_element(s->dims[d->dim[1]].length);
    cgsize_t first, last, elements = (cgsize_t)s->dims[d->dim[0]].length;
    int boundary, parents;
    f->base.calls++;
    f->index[dataset] = 1;
    if (cg_section_read(f->id, f->in_base, f->zone[dataset], 1, name, &type, &first, &last, &boundary,
                        &parents))
        return io_cgns_fail(f, "cg_section_read");
    if (!strcmp(name, d->node) && type == expected && first == 1 && last == elements) return 0;
    return io_fail(f->base.ctx->error,
                   "cg_section_read: %s has elements %lld to %lld; expected %s with 1 to %lld of %s: %s",
                   name, (long long)first, (long long)last, d->node, (long long)elements,
                   cg_ElementTypeName(expected), f->base.path);
}
