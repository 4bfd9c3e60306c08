/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps of one layout, written and read in many ways: for tests/replay_faithful.py.
 *
 *     mpi_ways FOLDER plane|lists|line|records WAY SIZE STEPS write|read|middle [HINT=VALUE]...
 *
 * plane: SIZE x SIZE doubles, some columns for each process. lists: seven lists of about SIZE doubles for
 * each process. records: SIZE records of 4 KiB for one process after another. middle: each dump is written,
 * and the one before it read. Prints the seconds of writing and of reading, from opening to closing, of the
 * slowest. */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_check.h"

#ifdef WITH_HDF5
#include <hdf5.h>
#endif
#ifdef WITH_PNETCDF
#include <pnetcdf.h>
#endif

#define PATH 4096
#define LISTS 7
#define RECORD 4096
#define DOUBLE 8

typedef struct {
    int rank, processes, size, columns, first, pieces;
    bool writing;
    long long *at; /* of each piece, in bytes */
    int *length;
    char *data;
    long long mine;
    MPI_Info info;
} dump;

typedef void way(const dump *d, const char *name);

static void move(const dump *d, int fd, char *data, long long n, long long at) {
    CHECK((d->writing ? pwrite(fd, data, (size_t)n, at) : pread(fd, data, (size_t)n, at)) != n);
}

static int posix_open(const dump *d, const char *name) {
    int fd = open(name, d->writing ? O_WRONLY | O_CREAT : O_RDONLY, 0666);
    CHECK(fd < 0);
    return fd;
}

static void posix(const dump *d, const char *name) {
    int fd = posix_open(d, name);
    char *data = d->data;
    for (int i = 0; i < d->pieces; data += d->length[i++]) move(d, fd, data, d->length[i], d->at[i]);
    CHECK(close(fd));
}

static void own(const dump *d, const char *name) {
    char mine[PATH];
    snprintf(mine, sizeof mine, "%s.%d", name, d->rank);
    int fd = posix_open(d, mine);
    move(d, fd, d->data, d->mine, 0);
    CHECK(close(fd));
}

/* As `own`, in pieces. */
static void stream(const dump *d, const char *name) {
    char mine[PATH], *data = d->data;
    snprintf(mine, sizeof mine, "%s.%d", name, d->rank);
    int fd = posix_open(d, mine);
    for (int i = 0; i < d->pieces; data += d->length[i++]) move(d, fd, data, d->length[i], data - d->data);
    CHECK(close(fd));
}

static MPI_File mpi_open(const dump *d, const char *name) {
    MPI_File f;
    int mode = d->writing ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, mode, d->info, &f));
    return f;
}

#define EACH_PIECE(WAY, WRITE, READ)                                                                         \
    static void WAY(const dump *d, const char *name) {                                                       \
        MPI_File f = mpi_open(d, name);                                                                      \
        char *data = d->data;                                                                                \
        for (int i = 0; i < d->pieces; data += d->length[i++]) CHECK(d->writing ? (WRITE) : (READ));         \
        CHECK(MPI_File_close(&f));                                                                           \
    }
#define WHAT data, d->length[i], MPI_BYTE, MPI_STATUS_IGNORE
#define PIECE f, d->at[i], WHAT
EACH_PIECE(at, MPI_File_write_at(PIECE), MPI_File_read_at(PIECE))
EACH_PIECE(at_all, MPI_File_write_at_all(PIECE), MPI_File_read_at_all(PIECE))
EACH_PIECE(pointer, MPI_File_seek(f, d->at[i], MPI_SEEK_SET) || MPI_File_write(f, WHAT),
           MPI_File_seek(f, d->at[i], MPI_SEEK_SET) || MPI_File_read(f, WHAT))
EACH_PIECE(shared, MPI_File_write_shared(f, WHAT), MPI_File_read_shared(f, WHAT))
EACH_PIECE(in_order, MPI_File_write_ordered(f, WHAT), MPI_File_read_ordered(f, WHAT))

/* One call for all pieces, through a view. */
static MPI_Datatype set_view(const dump *d, MPI_File f) {
    MPI_Datatype type;
    int sizes[2] = {d->size, d->size}, parts[2] = {d->size, d->columns}, starts[2] = {0, d->first};
    if (d->columns) {
        CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type));
    } else {
        MPI_Aint *places = malloc((size_t)d->pieces * sizeof *places);
        for (int i = 0; i < d->pieces; i++) places[i] = (MPI_Aint)d->at[i];
        CHECK(MPI_Type_create_hindexed(d->pieces, d->length, places, MPI_BYTE, &type));
        free(places);
    }
    CHECK(MPI_Type_commit(&type));
    CHECK(MPI_File_set_view(f, 0, d->columns ? MPI_DOUBLE : MPI_BYTE, type, "native", d->info));
    return type;
}

#define ONE_CALL(WAY, WRITE, READ)                                                                           \
    static void WAY(const dump *d, const char *name) {                                                       \
        MPI_File f = mpi_open(d, name);                                                                      \
        MPI_Datatype type = set_view(d, f);                                                                  \
        MPI_Request r = MPI_REQUEST_NULL;                                                                    \
        CHECK(d->writing ? (WRITE) : (READ));                                                                \
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                              \
        CHECK(MPI_File_close(&f));                                                                           \
        CHECK(MPI_Type_free(&type));                                                                         \
    }
#define ALL f, d->data, (int)(d->mine / DOUBLE), MPI_DOUBLE
ONE_CALL(view, MPI_File_write(ALL, MPI_STATUS_IGNORE), MPI_File_read(ALL, MPI_STATUS_IGNORE))
ONE_CALL(view_all, MPI_File_write_all(ALL, MPI_STATUS_IGNORE), MPI_File_read_all(ALL, MPI_STATUS_IGNORE))
ONE_CALL(split, MPI_File_write_all_begin(ALL) || MPI_File_write_all_end(f, d->data, MPI_STATUS_IGNORE),
         MPI_File_read_all_begin(ALL) || MPI_File_read_all_end(f, d->data, MPI_STATUS_IGNORE))
ONE_CALL(later_all, MPI_File_iwrite_all(ALL, &r), MPI_File_iread_all(ALL, &r))

#define ALL_LATER(WAY, WRITE, READ)                                                                          \
    static void WAY(const dump *d, const char *name) {                                                       \
        MPI_File f = mpi_open(d, name);                                                                      \
        MPI_Request *r = malloc((size_t)d->pieces * sizeof *r);                                              \
        MPI_Status *status = malloc((size_t)d->pieces * sizeof *status);                                     \
        char *data = d->data;                                                                                \
        for (int i = 0; i < d->pieces; data += d->length[i++]) CHECK(d->writing ? (WRITE) : (READ));         \
        CHECK(MPI_Waitall(d->pieces, r, status));                                                            \
        free(r);                                                                                             \
        free(status);                                                                                        \
        CHECK(MPI_File_close(&f));                                                                           \
    }
#define BEGUN data, d->length[i], MPI_BYTE, &r[i]
ALL_LATER(later, MPI_File_iwrite_at(f, d->at[i], BEGUN), MPI_File_iread_at(f, d->at[i], BEGUN))
ALL_LATER(shared_later, MPI_File_iwrite_shared(f, BEGUN), MPI_File_iread_shared(f, BEGUN))

#ifdef WITH_HDF5
static void hdf5_as(const dump *d, const char *name, H5FD_mpio_xfer_t transfer) {
    hsize_t whole[2] = {(hsize_t)d->size, (hsize_t)d->size}, start[2] = {0, (hsize_t)d->first};
    hsize_t part[2] = {(hsize_t)d->size, (hsize_t)d->columns};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), how = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, d->info);
    H5Pset_dxpl_mpio(how, transfer);
    hid_t f = d->writing ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : H5Fopen(name, H5F_ACC_RDONLY, access);
    hid_t all = H5Screate_simple(2, whole, NULL), memory = H5Screate_simple(2, part, NULL);
    hid_t set = d->writing ? H5Dcreate2(f, "t", H5T_NATIVE_DOUBLE, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                           : H5Dopen2(f, "t", H5P_DEFAULT);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, part, NULL);
    CHECK(d->writing ? H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, all, how, d->data)
                     : H5Dread(set, H5T_NATIVE_DOUBLE, memory, all, how, d->data));
    CHECK(H5Dclose(set) || H5Sclose(all) || H5Sclose(memory) || H5Pclose(access) || H5Pclose(how));
    CHECK(H5Fclose(f));
}
static void hdf5(const dump *d, const char *name) { hdf5_as(d, name, H5FD_MPIO_INDEPENDENT); }
static void hdf5_all(const dump *d, const char *name) { hdf5_as(d, name, H5FD_MPIO_COLLECTIVE); }
#endif

#ifdef WITH_PNETCDF
#define VARIABLES 4
static void pnetcdf_as(const dump *d, const char *name, bool blocking) {
    int f, dim[2], v[VARIABLES], r[VARIABLES], status[VARIABLES], band = d->size / VARIABLES;
    MPI_Offset start[2] = {0, d->first}, part[2] = {band, d->columns};
    CHECK(d->writing ? ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, d->info, &f)
                     : ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, d->info, &f));
    if (d->writing) {
        CHECK(ncmpi_def_dim(f, "y", band, &dim[0]) || ncmpi_def_dim(f, "x", d->size, &dim[1]));
        for (int i = 0; i < VARIABLES; i++) {
            char variable[] = {(char)('a' + i), 0};
            CHECK(ncmpi_def_var(f, variable, NC_DOUBLE, 2, dim, &v[i]));
        }
        CHECK(ncmpi_enddef(f));
    }
    for (int i = 0; i < VARIABLES; i++) {
        double *data = (double *)d->data + (long long)i * band * d->columns;
        if (d->writing && blocking) CHECK(ncmpi_put_vara_double_all(f, i, start, part, data));
        if (d->writing && !blocking) CHECK(ncmpi_iput_vara_double(f, i, start, part, data, &r[i]));
        if (!d->writing && blocking) CHECK(ncmpi_get_vara_double_all(f, i, start, part, data));
        if (!d->writing && !blocking) CHECK(ncmpi_iget_vara_double(f, i, start, part, data, &r[i]));
    }
    if (!blocking) CHECK(ncmpi_wait_all(f, VARIABLES, r, status));
    CHECK(ncmpi_close(f));
}
static void pnetcdf(const dump *d, const char *name) { pnetcdf_as(d, name, true); }
static void pnetcdf_later(const dump *d, const char *name) { pnetcdf_as(d, name, false); }
#endif

static const struct {
    const char *name;
    way *call;
} ways[] = {
    {"posix",         posix        },
    {"own",           own          },
    {"stream",        stream       },
    {"at",            at           },
    {"at_all",        at_all       },
    {"pointer",       pointer      },
    {"shared",        shared       },
    {"ordered",       in_order     },
    {"view",          view         },
    {"view_all",      view_all     },
    {"split",         split        },
    {"later",         later        },
    {"later_all",     later_all    },
    {"shared_later",  shared_later },
#ifdef WITH_HDF5
    {"hdf5",          hdf5         },
    {"hdf5_all",      hdf5_all     },
#endif
#ifdef WITH_PNETCDF
    {"pnetcdf",       pnetcdf      },
    {"pnetcdf_later", pnetcdf_later},
#endif
};

static way *way_of(const char *name) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(name, ways[i].name)) return ways[i].call;
    fprintf(stderr, "no way %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

static void share_out(dump *d, const char *layout) {
    bool plane = !strcmp(layout, "plane"), line = !strcmp(layout, "line");
    bool lists = line || !strcmp(layout, "lists");
    d->pieces = line ? 1 : lists ? LISTS : d->size;
    d->at = malloc((size_t)d->pieces * sizeof *d->at);
    d->length = malloc((size_t)d->pieces * sizeof *d->length);
    if (!d->at || !d->length) MPI_Abort(MPI_COMM_WORLD, 1);
    d->columns = plane ? d->size / d->processes : 0;
    d->first = d->rank * d->columns;
    long long n = d->size + 10 * d->rank, before = 0, all = n;
    MPI_Exscan(&n, &before, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (!d->rank) before = 0;
    for (int i = 0; i < d->pieces; i++) {
        d->length[i] = plane ? d->columns * DOUBLE : lists ? (int)n * DOUBLE : RECORD;
        d->at[i] = plane   ? ((long long)i * d->size + d->first) * DOUBLE
                   : lists ? (i * all + before) * DOUBLE
                           : ((long long)i * d->processes + d->rank) * RECORD;
        d->mine += d->length[i];
    }
    d->data = malloc((size_t)d->mine);
    if (!d->data) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(d->data, 1 + d->rank, (size_t)d->mine);
}

static double timed(dump *d, way *call, const char *folder, int step, bool writing) {
    char name[PATH];
    snprintf(name, sizeof name, "%s/dump.%d", folder, step);
    d->writing = writing;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    call(d, name);
    double seconds = MPI_Wtime() - began;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

int main(int argc, char **argv) {
    dump d = {.info = MPI_INFO_NULL};
    double spent[2] = {0, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &d.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &d.processes);
    CHECK(argc < 7);
    way *call = way_of(argv[3]);
    d.size = atoi(argv[4]);
    share_out(&d, argv[2]);
    if (argc > 7) CHECK(MPI_Info_create(&d.info));
    for (int i = 7; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        CHECK(!value);
        *value = 0;
        CHECK(MPI_Info_set(d.info, argv[i], value + 1));
    }
    bool writes = strcmp(argv[6], "read"), reads = strcmp(argv[6], "write");
    for (int step = 0; step < atoi(argv[5]); step++) {
        if (writes) spent[0] += timed(&d, call, argv[1], step, true);
        if (reads && (step || !writes)) spent[1] += timed(&d, call, argv[1], step - writes, false);
    }
    if (!d.rank) printf("%.6f %.6f\n", spent[0], spent[1]);
    if (d.info != MPI_INFO_NULL) MPI_Info_free(&d.info);
    free(d.at);
    free(d.length);
    free(d.data);
    MPI_Finalize();
    return 0;
}
