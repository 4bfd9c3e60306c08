/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/libraries.h"

#include <mpi.h>
#include <string.h>

#include "methods/registry.h"

json_t *io_libraries(void) {
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n, length = 0;
    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, "\n,")] = '\0'; /* the first words: name and version */
    for (char *tab = mpi; (tab = strchr(tab, '\t'));) *tab = ' ';
    json_t *libraries = json_pack("{s:s}", "mpi", mpi);
    const io_method_entry *methods = io_methods(&n);
    for (int i = 0; i < n; i++) {
        char text[64];
        if (!methods[i].method || !methods[i].method->version) continue;
        methods[i].method->version(text, sizeof text);
        json_object_set_new(libraries, methods[i].name, json_string(text));
    }
    return libraries;
}
