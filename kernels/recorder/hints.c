/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints that each MPI_File_open was given, those in force after the first of each direction, and the
 * representations of views; in the same form the process's host and, of process 0, libraries with versions.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_handles.h"
#include "paths.h"
#include "state.h"

static const char *const kind_name[HINT_KINDS] = {"given-read", "given-write", "used-read", "used-write",
                                                  "view"};

static void count(recorder *the, hint_kind kind, const char *key, const char *value) {
    for (hint *h = the->hint; h < the->hint + the->hints; h++) {
        if (h->kind != kind || strcmp(h->key, key) != 0 || strcmp(h->value, value) != 0) continue;
        h->opens++;
        return;
    }
    hint *larger = realloc(the->hint, (the->hints + 1) * sizeof *larger),
         new = {kind, strdup(key), strdup(value), 1};
    if (larger) the->hint = larger;
    if (larger && new.key && new.value) {
        the->hint[the->hints++] = new;
        return;
    }
    free(new.key);
    free(new.value);
    recorder_partial();
}

static void count_all(recorder *the, hint_kind kind, MPI_Info info) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int n = 0, there = 0;
    if (info == MPI_INFO_NULL) return;
    LOOK_UP(number, MPI_Info_get_nkeys, (MPI_Info, int *));
    LOOK_UP(key_of, MPI_Info_get_nthkey, (MPI_Info, int, char *));
    LOOK_UP(value_of, MPI_Info_get, (MPI_Info, const char *, int, char *, int *));
    if (number(info, &n)) return;
    for (int i = 0; i < n; i++)
        if (!key_of(info, i, key) && !value_of(info, key, MPI_MAX_INFO_VAL, value, &there) && there) {
            recorder_lock();
            if (recorder_goes_on()) count(the, kind, key, value);
            recorder_unlock();
        }
}

void recorder_opened_with(MPI_Info given, int mode, MPI_File handle) {
    recorder *the = recorder_state();
    bool writes = !(mode & MPI_MODE_RDONLY);
    count_all(the, writes ? HINT_GIVEN_WRITE : HINT_GIVEN_READ, given);
    if (the->hints_looked[writes]) return; /* opens of very many files stay cheap */
    the->hints_looked[writes] = true;
    MPI_Info used = MPI_INFO_NULL;
    LOOK_UP(info_of, MPI_File_get_info, (MPI_File, MPI_Info *));
    LOOK_UP(release, MPI_Info_free, (MPI_Info *));
    if (info_of(handle, &used)) return;
    count_all(the, writes ? HINT_USED_WRITE : HINT_USED_READ, used);
    if (used != MPI_INFO_NULL) release(&used);
}

void recorder_viewed_as(const char *form) {
    recorder *the = recorder_state();
    recorder_lock();
    if (recorder_goes_on()) count(the, HINT_VIEW, "representation", form);
    recorder_unlock();
}

static void write_library(output *out, const char *name, const char *version) {
    output_print(out, "library\t1\t%s\t", name);
    for (; *version; version++) output_put(out, *version < ' ' ? " " : version, 1);
    output_put(out, "\n", 1);
}

/* Asks the libraries themselves; only where a kernel has asked them, too: HDF5 starts when it is asked. */
static void write_libraries(output *out) {
    unsigned v[3];
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    LOOK_UP(mpi, MPI_Get_library_version, (char *, int *));
    int (*hdf5)(unsigned *, unsigned *, unsigned *) =
        (int (*)(unsigned *, unsigned *, unsigned *))dlsym(RTLD_DEFAULT, "H5get_libversion");
    const char *(*pnetcdf)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "ncmpi_inq_libvers");
    const char *(*netcdf)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "nc_inq_libvers");
    if (!mpi(text, &length)) write_library(out, "mpi", text);
    if (pnetcdf) write_library(out, "pnetcdf", pnetcdf());
    if (netcdf) write_library(out, "netcdf4", netcdf());
    if (!hdf5 || hdf5(v, v + 1, v + 2) < 0) return;
    snprintf(text, sizeof text, "%u.%u.%u", v[0], v[1], v[2]);
    write_library(out, "hdf5", text);
}

void recorder_write_hints(recorder *the) {
    char host[256] = "";
    output *out = &the->out;
    if (!the->hints && (the->forked || !the->mpi)) return;
    output_begin(out, "hints", "");
    for (const hint *h = the->hint; h < the->hint + the->hints; h++)
        output_print(out, "%s\t%" PRIu64 "\t%s\t%s\n", kind_name[h->kind], h->opens, h->key, h->value);
    gethostname(host, sizeof host - 1);
    output_print(out, "host\t1\thost\t%s\n", host);
    if (!the->rank && !the->forked && the->plantings) write_libraries(out);
    output_end(out);
}
