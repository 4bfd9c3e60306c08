/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/mpi_types.h"

#include <stdlib.h>

#define PIECE (1u << 30)

/* Returns from the function at the first failing call, with its name. */
#define CHECK(call, name)                                                                                    \
    do {                                                                                                     \
        int code_ = (call);                                                                                  \
        if (code_) return io_fail_mpi(error, name, "building a data type", code_);                           \
    } while (0)

/* A function, because MPI's handles need not be constants. */
static MPI_Datatype type_of(io_type type) {
    switch (type) {
    case IO_INT8: return MPI_INT8_T;
    case IO_UINT8: return MPI_UINT8_T;
    case IO_CHAR: return MPI_CHAR;
    case IO_INT16: return MPI_INT16_T;
    case IO_UINT16: return MPI_UINT16_T;
    case IO_INT32: return MPI_INT32_T;
    case IO_UINT32: return MPI_UINT32_T;
    case IO_INT64: return MPI_INT64_T;
    case IO_UINT64: return MPI_UINT64_T;
    case IO_FLOAT32: return MPI_FLOAT;
    case IO_FLOAT64: return MPI_DOUBLE;
    default: return MPI_BYTE;
    }
}

/* Uncommitted, for building other types. */
static int several(io_type of, uint64_t n, MPI_Datatype *type, io_error *error) {
    if (n <= INT32_MAX) {
        CHECK(MPI_Type_contiguous((int)n, type_of(of), type), "MPI_Type_contiguous");
        return 0;
    }
    /* Blocks of 2^30 elements and the rest, one after another. */
    MPI_Datatype piece, pieces;
    CHECK(MPI_Type_contiguous(PIECE, type_of(of), &piece), "MPI_Type_contiguous");
    CHECK(MPI_Type_contiguous((int)(n / PIECE), piece, &pieces), "MPI_Type_contiguous");
    int counts[2] = {1, (int)(n % PIECE)};
    MPI_Aint at[2] = {0, (MPI_Aint)((n - n % PIECE) * io_type_size(of))};
    MPI_Datatype kinds[2] = {pieces, type_of(of)};
    CHECK(MPI_Type_create_struct(2, counts, at, kinds, type), "MPI_Type_create_struct");
    CHECK(MPI_Type_free(&piece), "MPI_Type_free");
    CHECK(MPI_Type_free(&pieces), "MPI_Type_free");
    return 0;
}

static int contiguous(uint64_t bytes, MPI_Datatype *type, io_error *error) {
    return several(IO_BYTE, bytes, type, error);
}

int io_mpi_values(io_type of, uint64_t n, MPI_Datatype *type, io_error *error) {
    if (several(of, n, type, error)) return -1;
    CHECK(MPI_Type_commit(type), "MPI_Type_commit");
    return 0;
}

int io_mpi_bytes(uint64_t bytes, MPI_Datatype *type, io_error *error) {
    return io_mpi_values(IO_BYTE, bytes, type, error);
}

/* Nested vectors instead of a subarray: its sizes are ints, while a stride in bytes is not. */
static int part_type(const io_schema *schema, const io_part *part, MPI_Datatype *type, MPI_Aint *at,
                     io_error *error) {
    uint64_t size = io_type_size(schema->datasets[part->dataset].type);
    io_runs runs = io_runs_of(schema, part);
    *at = (MPI_Aint)(io_dataset_offset(schema, part->dataset) + runs.first * size);
    if (contiguous(runs.length * size, type, error)) return -1;
    for (int i = runs.outer - 1; i >= 0; i--) {
        MPI_Datatype inner = *type;
        if (runs.count[i] > INT32_MAX)
            return io_fail(error,
                           "MPI_Type_create_hvector: %llu rows are more than MPI counts; use more processes",
                           (unsigned long long)runs.count[i]);
        CHECK(MPI_Type_create_hvector((int)runs.count[i], 1, (MPI_Aint)(runs.stride[i] * size), inner, type),
              "MPI_Type_create_hvector");
        CHECK(MPI_Type_free(&inner), "MPI_Type_free");
    }
    return 0;
}

static int combine(const io_schema *schema, const io_part *parts, int n, int *ones, MPI_Aint *at,
                   MPI_Datatype *types, MPI_Datatype *type, io_error *error) {
    int used = 0;
    for (int i = 0; i < n; i++) {
        if (!io_part_elements(schema, &parts[i])) continue;
        ones[used] = 1;
        if (part_type(schema, &parts[i], &types[used], &at[used], error)) return -1;
        used++;
    }
    if (!used)
        CHECK(MPI_Type_contiguous(1, MPI_BYTE, type),
              "MPI_Type_contiguous"); /* an empty view is not allowed */
    else
        CHECK(MPI_Type_create_struct(used, ones, at, types, type), "MPI_Type_create_struct");
    CHECK(MPI_Type_commit(type), "MPI_Type_commit");
    for (int i = 0; i < used; i++) CHECK(MPI_Type_free(&types[i]), "MPI_Type_free");
    return 0;
}

int io_mpi_file_type(const io_schema *schema, const io_part *parts, int n, MPI_Datatype *type,
                     io_error *error) {
    int *ones = calloc((size_t)n, sizeof *ones);
    MPI_Aint *at = calloc((size_t)n, sizeof *at);
    MPI_Datatype *types = calloc((size_t)n, sizeof *types);
    int status = ones && at && types ? combine(schema, parts, n, ones, at, types, type, error)
                                     : io_fail(error, "out of memory for a file type of %d parts", n);
    free(ones);
    free(at);
    free(types);
    return status;
}
