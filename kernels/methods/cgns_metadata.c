/* SPDX-License-Identifier: BSD-3-Clause */
/* The CGNS library sets HDF5's collective metadata itself (always for writing; for reading existing files)
 * and has no call to change it. To compare both settings, this file interposes H5Fcreate and H5Fopen, like a
 * tracing library. The setting is passed in the MPI_Info that the library forwards, so there is no state
 * here. Files opened without it are not affected. */
#include <dlfcn.h>
#include <stdio.h>

#include "methods/cgns_file.h"

#ifdef IOKERNEL_CGNS_METADATA

/* Converts an object pointer to a function pointer, which C does not. */
typedef union {
    void *object;
    hid_t (*create)(const char *, unsigned, hid_t, hid_t);
    hid_t (*open)(const char *, unsigned, hid_t);
} next;

/* There is no io_ctx here, and the CGNS library says only that the file cannot be opened: this line before
 * its message says why. */
static int failed(const char *call, int code) {
    io_error error = {0};
    io_fail_mpi(&error, call, "the setting of collective metadata", code);
    fprintf(stderr, "iokernel: %s\n", error.text);
    return -1;
}

static int obey(hid_t access) {
    MPI_Comm comm;
    MPI_Info info;
    char value[8];
    int there = 0, code = 0;
    if (access == H5P_DEFAULT || H5Pget_driver(access) != H5FD_MPIO) return 0;
    if (H5Pget_fapl_mpio(access, &comm, &info) < 0) return -1;
    if (info != MPI_INFO_NULL) {
        code = MPI_Info_get(info, IO_CGNS_METADATA_KEY, sizeof value - 1, value, &there);
        MPI_Info_free(&info);
    }
    if (code) return failed("MPI_Info_get", code);
    code = MPI_Comm_free(&comm);
    if (code) return failed("MPI_Comm_free", code);
    return there ? io_hdf5_set_metadata(access, value) : 0;
}

hid_t H5Fcreate(const char *name, unsigned flags, hid_t creation, hid_t access) {
    next real = {dlsym(RTLD_NEXT, "H5Fcreate")};
    return !real.object || obey(access) ? H5I_INVALID_HID : real.create(name, flags, creation, access);
}

hid_t H5Fopen(const char *name, unsigned flags, hid_t access) {
    next real = {dlsym(RTLD_NEXT, "H5Fopen")};
    return !real.object || obey(access) ? H5I_INVALID_HID : real.open(name, flags, access);
}

#endif
