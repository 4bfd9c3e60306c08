/* SPDX-License-Identifier: BSD-3-Clause */
/* Data sets of HDF5, two processes: each layout and kind of selection. Its own error handler must be called
 * once, by the call that fails here, and keep what it was called for. */
#include <hdf5.h>
#include <stdlib.h>

#include "mpi_check.h"

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) < 0) {                                                                                    \
            fprintf(stderr, "%s failed\n", #call);                                                           \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                    \
        }                                                                                                    \
    } while (0)

static int rank, errors;
static int values[1024];
static hid_t each, together;

static herr_t on_error(hid_t stack, void *data) {
    (void)stack;
    errors += data == values;
    return 0;
}

static hid_t make(hid_t file, const char *name, int n, const hsize_t *dims, const hsize_t *chunk,
                  int packed) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    hsize_t most[] = {H5S_UNLIMITED, H5S_UNLIMITED};
    hid_t space = n ? H5Screate_simple(n, dims, chunk ? most : NULL) : H5Screate(H5S_SCALAR);
    if (chunk) MUST(H5Pset_chunk(list, n, chunk));
    if (packed) MUST(H5Pset_deflate(list, 1));
    MUST(H5Pset_create_intermediate_group(links, 1));
    hid_t set = H5Dcreate2(file, name, H5T_STD_I32LE, space, links, list, H5P_DEFAULT);
    MUST(set);
    H5Sclose(space);
    H5Pclose(list);
    H5Pclose(links);
    return set;
}

/* Moves what is selected in `space`, which is closed. */
static void move(hid_t set, hid_t space, hid_t how, int reads) {
    hsize_t n = (hsize_t)H5Sget_select_npoints(space);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    if (reads)
        MUST(H5Dread(set, H5T_NATIVE_INT, memory, space, how, values));
    else
        MUST(H5Dwrite(set, H5T_NATIVE_INT, memory, space, how, values));
    H5Sclose(memory);
    H5Sclose(space);
}

static hid_t box(hid_t set, hsize_t y, hsize_t x, hsize_t height, hsize_t width) {
    hid_t space = H5Dget_space(set);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){y, x}, NULL, (hsize_t[]){height, width},
                             NULL));
    return space;
}

static void rows_and_columns(hid_t file) {
    hsize_t dims[] = {8, 6}, chunk[] = {2, 3}, more[] = {16, 6};
    hid_t set = make(file, "rows", 2, dims, NULL, 0);
    move(set, box(set, 4 * (hsize_t)rank, 0, 4, 6), together, 0);
    H5Dclose(set);
    set = H5Dopen2(file, "/rows", H5P_DEFAULT);
    move(set, box(set, 4 * (hsize_t)rank, 0, 4, 6), each, 0);
    move(set, box(set, 0, 3 * (hsize_t)rank, 8, 3), each, 1);
    H5Dclose(set);
    set = make(file, "a/group/chunked", 2, dims, chunk, 0);
    move(set, box(set, 0, 3 * (hsize_t)rank, 8, 3), each, 0);
    H5Dclose(set);
    set = make(file, "packed", 2, dims, chunk, 1);
    move(set, box(set, 4 * (hsize_t)rank, 0, 4, 6), together, 0);
    H5Dclose(set);
    set = make(file, "longer", 2, dims, chunk, 0);
    move(set, box(set, 0, 3 * (hsize_t)rank, 8, 3), together, 0);
    MUST(H5Dset_extent(set, more));
    move(set, box(set, 8, 3 * (hsize_t)rank, 8, 3), together, 0);
    H5Dclose(set);
}

static void other_selections(hid_t file) {
    hsize_t length = 24, chunk = 24, one = (hsize_t)rank;
    hid_t set = make(file, "points", 1, &length, NULL, 0), space = H5Dget_space(set);
    MUST(H5Sselect_elements(space, H5S_SELECT_SET, 3, (hsize_t[]){one + 7, one, one + 22}));
    move(set, space, each, 0);
    H5Dclose(set);
    set = make(file, "strided", 1, &length, NULL, 0);
    space = H5Dget_space(set);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){2 * one}, (hsize_t[]){4}, (hsize_t[]){6},
                             (hsize_t[]){2}));
    move(set, space, each, 0);
    H5Dclose(set);
    set = make(file, "two blocks", 1, &length, NULL, 0);
    space = H5Dget_space(set);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){10 * one}, NULL, (hsize_t[]){3}, NULL));
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_OR, (hsize_t[]){10 * one + 7}, NULL, (hsize_t[]){5}, NULL));
    MUST(H5Soffset_simple(space, (hssize_t[]){(hssize_t)(2 * one)}));
    move(set, space, each, 0);
    H5Dclose(set);
    set = make(file, "whole", 1, &length, &chunk, 0);
    hid_t number = make(file, "number", 0, NULL, NULL, 0);
    if (rank == 0) {
        MUST(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        MUST(H5Dwrite(number, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    }
    space = H5Dget_space(set);
    MUST(H5Sselect_none(space));
    move(set, space, each, 0);
    H5Dclose(set);
    H5Dclose(number);
}

/* Of one that fails, its own errors stay to be seen. */
static void fails(hid_t file) {
    hsize_t length = 2, more = 3;
    hid_t set = make(file, "failed", 1, &length, NULL, 0), memory = H5Screate_simple(1, &more, NULL);
    herr_t result = H5Dwrite(set, H5T_NATIVE_INT, memory, H5S_ALL, H5P_DEFAULT, values);
    ssize_t left = H5Eget_num(H5E_DEFAULT);
    H5E_auto2_t function;
    void *data;
    MUST(H5Eget_auto2(H5E_DEFAULT, &function, &data));
    if (result >= 0 || errors != 1 || left < 1 || function != on_error || data != values) {
        fprintf(stderr, "errors: %d, left: %d\n", errors, (int)left);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    H5Sclose(memory);
    H5Dclose(set);
}

int main(int argc, char **argv) {
    CHECK(MPI_Init(&argc, &argv));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hsize_t dims[] = {8, 6}, small[] = {2, 2};
    MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    each = H5Pcreate(H5P_DATASET_XFER);
    together = H5Pcreate(H5P_DATASET_XFER);
    MUST(H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE));
    MUST(H5Eset_auto2(H5E_DEFAULT, on_error, values));
    hid_t one = H5Fcreate("one.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t two = H5Fcreate("two.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    MUST(one);
    MUST(two);
    rows_and_columns(one);
    other_selections(one);
    hid_t set = make(two, "rows", 2, small, NULL, 0);
    move(set, box(set, (hsize_t)rank, 0, 1, 2), each, 0);
    H5Dclose(set);
    set = make(two, "chunked", 2, dims, small, 0);
    move(set, box(set, 0, 3 * (hsize_t)rank, 8, 3), together, 0);
    H5Dclose(set);
    fails(two);
    MUST(H5Fclose(one));
    MUST(H5Fclose(two));
    if (errors != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    CHECK(MPI_Finalize());
    return 0;
}
