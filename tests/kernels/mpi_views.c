/* SPDX-License-Identifier: BSD-3-Clause */
/* File views of each kind of data type, one after another, without any access. For test_recorder_views.py,
 * which knows the bytes of each. With -DLARGE by the calls with large counts. */
#include <mpi.h>

#include "mpi_check.h"

#ifdef LARGE
typedef MPI_Count number, place;
#define MPI_Type_contiguous MPI_Type_contiguous_c
#define MPI_Type_vector MPI_Type_vector_c
#define MPI_Type_indexed MPI_Type_indexed_c
#define MPI_Type_create_hvector MPI_Type_create_hvector_c
#define MPI_Type_create_resized MPI_Type_create_resized_c
#define MPI_Type_create_hindexed MPI_Type_create_hindexed_c
#define MPI_Type_create_indexed_block MPI_Type_create_indexed_block_c
#define MPI_Type_create_hindexed_block MPI_Type_create_hindexed_block_c
#define MPI_Type_create_struct MPI_Type_create_struct_c
#define MPI_Type_create_subarray MPI_Type_create_subarray_c
#define MPI_Type_create_darray MPI_Type_create_darray_c
#else
typedef int number;
typedef MPI_Aint place;
#endif

#define PAIRS 20
#define DISPLACEMENT 100

static MPI_File f;

static void view(MPI_Datatype type) {
    CHECK(MPI_Type_commit(&type));
    CHECK(MPI_File_set_view(f, DISPLACEMENT, MPI_INT, type, "native", MPI_INFO_NULL));
    CHECK(MPI_Type_free(&type));
}

static void vectors(void) {
    MPI_Datatype type, inner, wider;
    CHECK(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_create_hvector(2, 1, 12, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    CHECK(MPI_Type_dup(inner, &type));
    view(type);
    CHECK(MPI_Type_create_resized(inner, 0, 32, &wider));
    CHECK(MPI_Type_contiguous(2, wider, &type));
    view(type);
    view(wider);
    CHECK(MPI_Type_free(&inner));
    CHECK(MPI_Type_contiguous(5, MPI_INT, &type));
    view(type);
}

static void lists(void) {
    MPI_Datatype type;
    number lengths[] = {1, 1, 2}, places[] = {0, 1, 5}, apart[] = {0, 3, 8}, ones[2 * PAIRS];
    place bytes[] = {4, 20}, pairs[2 * PAIRS];
    CHECK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    view(type);
    for (int i = 0; i < 2 * PAIRS; i++) {
        ones[i] = 1;
        pairs[i] = 16 * (i / 2) + 4 * (i % 2);
    }
    CHECK(MPI_Type_create_hindexed(2 * PAIRS, ones, pairs, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_create_indexed_block(3, 2, apart, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_create_hindexed_block(2, 1, bytes, MPI_INT, &type));
    view(type);
}

static void structure(void) {
    MPI_Datatype inner, type;
    number lengths[] = {2, 1};
    place places[] = {0, 16};
    CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    CHECK(MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){MPI_INT, inner}, &type));
    view(type);
    CHECK(MPI_Type_free(&inner));
}

static void arrays(void) {
    MPI_Datatype type;
    number rows[] = {4, 6}, of_rows[] = {2, 3}, first_row[] = {1, 2};
    number columns[] = {6, 4}, of_columns[] = {3, 2}, first_column[] = {2, 1};
    number box[] = {3, 4, 2}, of_box[] = {2, 2, 1}, corner[] = {1, 1, 1};
    CHECK(MPI_Type_create_subarray(2, rows, of_rows, first_row, MPI_ORDER_C, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_create_subarray(2, columns, of_columns, first_column, MPI_ORDER_FORTRAN, MPI_INT, &type));
    view(type);
    CHECK(MPI_Type_create_subarray(3, box, of_box, corner, MPI_ORDER_C, MPI_INT, &type));
    view(type);
}

/* Of several processes, one's part. */
static void dealt(int rank, int n, const number *size, const int *how, const int *block, const int *grid,
                  int order) {
    MPI_Datatype type;
    int processes = 1;
    for (int i = 0; i < n; i++) processes *= grid[i];
    CHECK(MPI_Type_create_darray(processes, rank, n, size, how, block, grid, order, MPI_INT, &type));
    view(type);
}

static void distributed_arrays(void) {
    enum { BLOCK = MPI_DISTRIBUTE_BLOCK, CYCLIC = MPI_DISTRIBUTE_CYCLIC, WHOLE = MPI_DISTRIBUTE_NONE };
    enum { ANY = MPI_DISTRIBUTE_DFLT_DARG };
    dealt(0, 1, (number[]){8}, (int[]){CYCLIC}, (int[]){1}, (int[]){2}, MPI_ORDER_C);
    dealt(1, 2, (number[]){4, 6}, (int[]){BLOCK, CYCLIC}, (int[]){ANY, 2}, (int[]){2, 2}, MPI_ORDER_C);
    dealt(1, 2, (number[]){6, 4}, (int[]){CYCLIC, BLOCK}, (int[]){2, ANY}, (int[]){2, 2}, MPI_ORDER_FORTRAN);
    dealt(1, 2, (number[]){2, 4}, (int[]){WHOLE, BLOCK}, (int[]){ANY, ANY}, (int[]){1, 2}, MPI_ORDER_C);
    dealt(1, 1, (number[]){5}, (int[]){CYCLIC}, (int[]){ANY}, (int[]){2}, MPI_ORDER_C);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    CHECK(MPI_File_open(MPI_COMM_SELF, "views", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f));
    vectors();
    lists();
    structure();
    arrays();
    distributed_arrays();
    CHECK(MPI_File_close(&f));
    return MPI_Finalize();
}
