/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/check_hints.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/known_hints.h"
#include "methods/registry.h"
#include "report/document_hints.h"

/* The libraries of the run and their versions; "" if unknown. */
typedef struct {
    bool has;
    char version[32];
} library_in_use;
typedef library_in_use libraries_in_use[IO_HINT_LIBRARIES];

static void use(library_in_use *library, const char *version) {
    library->has = true;
    snprintf(library->version, sizeof library->version, "%.*s", (int)strspn(version, "0123456789."), version);
}

/* Open MPI has two implementations, selected by `io`; its romio321 is ROMIO 3.2.1. */
static void use_openmpi(libraries_in_use in, const char *version, const char *dir) {
    const char *io = getenv("OMPI_MCA_io"), *romio = io ? strstr(io, "romio") : NULL;
    io_error none = {0};
    io_filesystem fs;
    const bool lustre = *dir && !io_filesystem_of(dir, &fs, &none) && !strcmp(fs.type, "lustre");
    const bool chosen = io_openmpi_romio();
    if (chosen || (lustre && !io)) { /* on Lustre the default depends on the version */
        const char *digits = romio && *io != '^' ? romio + strlen("romio") : "";
        char text[8] = "";
        if (isdigit(*digits) && isdigit(digits[1]) && isdigit(digits[2]))
            snprintf(text, sizeof text, "%c.%c.%c", digits[0], digits[1], digits[2]);
        use(&in[IO_HINTS_OF_ROMIO], text);
    }
    if (!chosen) use(&in[IO_HINTS_OF_OMPIO], version);
}

static void use_mpi(libraries_in_use in, const char *dir) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char open_mpi[] = "Open MPI v", mpich[] = "MPICH Version:";
    int length = 0;
    MPI_Get_library_version(text, &length);
    use(&in[IO_HINTS_OF_MPI], "");
    if (!strncmp(text, open_mpi, strlen(open_mpi))) {
        use_openmpi(in, text + strlen(open_mpi), dir);
    } else if (!strncmp(text, mpich, strlen(mpich))) {
        const char *version = text + strlen(mpich);
        use(&in[IO_HINTS_OF_ROMIO], version + strspn(version, " \t"));
    } else { /* its version of each is unknown */
        use(&in[IO_HINTS_OF_ROMIO], "");
        use(&in[IO_HINTS_OF_OMPIO], "");
        use(&in[IO_HINTS_OF_IBM], "");
        use(&in[IO_HINTS_OF_CRAY], "");
    }
}

static void find_libraries(const io_case *c, libraries_in_use in) {
    const io_method *m = c->method->servers ? io_method_backend(c, NULL) : c->method;
    char version[64] = "";
    memset(in, 0, sizeof(libraries_in_use));
    if (!m || !(m->traits & IO_TAKES_HINTS)) return;
    use_mpi(in, c->common.dir);
    if (!io_method_uses(m, "pnetcdf")) return;
    m->version(version, sizeof version);
    use(&in[IO_HINTS_OF_PNETCDF], version);
}

#define PASS "--unknown-hints pass accepts any hint"

static int fail_unknown(const char *from, const char *key, io_error *error) {
    const char *nearest = io_known_hint_nearest(key);
    char did[96] = "see docs/reference/hints.md";
    if (nearest) snprintf(did, sizeof did, "did you mean %s?", nearest);
    return io_fail_usage(error, "%s %s: unknown hint; %s (" PASS ")", from, key, did);
}

static int fail_another(const char *from, const io_known_hint *hint, const libraries_in_use in,
                        io_error *error) {
    char used[160] = "";
    for (int i = IO_HINTS_OF_ROMIO; i < IO_HINT_LIBRARIES; i++) {
        const size_t n = strlen(used);
        if (in[i].has)
            snprintf(used + n, sizeof used - n, "%s%s%s%s", n ? " and " : "", io_hint_library_name(i),
                     *in[i].version ? " " : "", in[i].version);
    }
    const char *theirs = io_hint_library_name(hint->library);
    if (!in[hint->library].has)
        return io_fail_usage(error, "%s %s: a hint of %s, but this run uses %s; omit it (" PASS ")", from,
                             hint->name, theirs, used);
    return io_fail_usage(error, "%s %s: %s has this hint %s %s, but this run uses %s; omit it (" PASS ")",
                         from, hint->name, theirs, *hint->until ? "before" : "from",
                         *hint->until ? hint->until : hint->since, in[hint->library].version);
}

/* Is the variable ignored by all libraries of this run? */
static bool is_unread(const char *variable, const libraries_in_use in) {
    if (!strcmp(variable, "ROMIO_HINTS")) return !in[IO_HINTS_OF_ROMIO].has;
    if (!strcmp(variable, "PNETCDF_HINTS")) return !in[IO_HINTS_OF_PNETCDF].has;
    return !in[strncmp(variable, "OMPI_", 5) ? IO_HINTS_OF_IBM : IO_HINTS_OF_OMPIO].has;
}

static int check(const io_run *run, const libraries_in_use in, const char *name, const char *value,
                 const char *variable, io_error *error) {
    const char *key, *from = variable ? variable : "--hint";
    if (variable && is_unread(variable, in)) return 0;
    io_hint_direction(name, &key);
    const io_known_hint *hint = io_known_hint_find(key);
    if (io_known_hint_check(from, key, value, error)) return -1;
    if (run->unknown_hints) return 0;
    if (!hint) return fail_unknown(from, key, error);
    /* --plan is for another machine; method null has no libraries; HDF5's hints belong to the method. */
    if (run->plan || !in[IO_HINTS_OF_MPI].has || hint->library == IO_HINTS_OF_HDF5) return 0;
    const library_in_use *library = &in[hint->library];
    if (library->has && io_known_hint_is_of(hint, library->version)) return 0;
    return fail_another(from, hint, in, error);
}

int io_check_hints(const io_run *run, io_error *error) {
    libraries_in_use in;
    find_libraries(&run->what, in);
    json_t *ways = json_object(), *asked = io_asked_hints(&run->what.hints, environ, ways), *value;
    const char *name;
    int status = 0;
    json_object_foreach(asked, name, value) {
        const char *variable = json_string_value(json_object_get(ways, name));
        if (!status) status = check(run, in, name, json_string_value(value), variable, error);
    }
    json_decref(asked);
    json_decref(ways);
    return status;
}
