/* SPDX-License-Identifier: BSD-3-Clause */
/* adios2: an ADIOS2 directory in BP5 format, with a variable per array, written in one step.
 *
 * collective: the parts of a write are put from the application's memory, and all processes write them to the
 * files before it returns (adios2_perform_data_write). independent: each part is copied into the library's
 * buffers, and written when the step ends. A scalar is an array of one element, so that it is stored with the
 * data and not in the metadata. */
#include <adios2_c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "method_roles.h"
#include "methods/modes_of.h"

extern const io_method io_method_adios2;

typedef struct {
    io_file base;
    adios2_adios *library;
    adios2_io *io;
    adios2_engine *engine;
    bool creating, stepping;
    adios2_variable *variables[]; /* of each data set */
} adios2_file;

typedef struct {
    uint64_t aggregators; /* per node */
} adios2_options;

/* Text is stored as bytes: ADIOS2's strings have no length that processes could share. */
static const adios2_type file_type[IO_TYPES] = {
    [IO_BYTE] = adios2_type_uint8_t,    [IO_INT32] = adios2_type_int32_t,
    [IO_INT64] = adios2_type_int64_t,   [IO_FLOAT32] = adios2_type_float,
    [IO_FLOAT64] = adios2_type_double,  [IO_INT8] = adios2_type_int8_t,
    [IO_UINT8] = adios2_type_uint8_t,   [IO_CHAR] = adios2_type_int8_t,
    [IO_INT16] = adios2_type_int16_t,   [IO_UINT16] = adios2_type_uint16_t,
    [IO_UINT32] = adios2_type_uint32_t, [IO_UINT64] = adios2_type_uint64_t,
};

/* ---------------------------------------------------------------- options */

enum { AGGREGATORS = 1 };
static const io_option options[] = {
    {"aggregators", AGGREGATORS, "N",
     "processes per node that write for all, each to its own files (default 1)"},
    {0},
};

static void defaults(void *state) { *(adios2_options *)state = (adios2_options){.aggregators = 1}; }

static int option(void *state, int letter, const char *value, io_error *error) {
    (void)letter;
    return io_parse_count("--aggregators", value, &((adios2_options *)state)->aggregators, error);
}

static int configure(void *state, uint64_t processes, io_method_lookup *find, io_method *mine,
                     io_error *error) {
    const adios2_options *o = state;
    (void)find;
    (void)mine;
    if (o->aggregators <= processes) return 0;
    return io_fail_usage(error, "--aggregators %llu: expected 1 to %llu, the number of processes",
                         (unsigned long long)o->aggregators, (unsigned long long)processes);
}

static json_t *describe(const void *state) {
    return json_pack("{s:I}", "aggregators", (json_int_t)((const adios2_options *)state)->aggregators);
}

/* ---------------------------------------------------------------- errors */

/* The C interface prints the cause on stderr and returns only the kind of error. */
static int fail(const io_ctx *ctx, const char *call, const char *path, adios2_error code) {
    static const char *const kinds[] = {
        [adios2_error_none] = "no handle",
        [adios2_error_invalid_argument] = "invalid argument",
        [adios2_error_system_error] = "system error",
        [adios2_error_runtime_error] = "runtime error",
        [adios2_error_exception] = "exception",
    };
    char text[96];
    const bool known = code >= 0 && (size_t)code < sizeof kinds / sizeof *kinds;
    snprintf(text, sizeof text, "%s; see ADIOS2's message above, on stderr", known ? kinds[code] : "unknown");
    return io_fail_library(ctx->error, call, path, text);
}

/* Returns from the function at the first failing call, with its name. */
#define CHECK(f, call, ...)                                                                                  \
    do {                                                                                                     \
        adios2_error code_ = call(__VA_ARGS__);                                                              \
        if (code_ != adios2_error_none) return fail((f)->base.ctx, #call, (f)->base.path, code_);            \
    } while (0)

/* ---------------------------------------------------------------- opening */

/* Called by all processes of a file: the total number of processes that write. */
static int count_aggregators(const io_ctx *ctx, const char *path, uint64_t *count) {
    MPI_Comm node;
    int rank;
    uint64_t nodes;
    IO_TRY_MPI(ctx->error, path, MPI_Comm_split_type, ctx->comm, MPI_COMM_TYPE_SHARED, ctx->rank,
               MPI_INFO_NULL, &node);
    IO_TRY_MPI(ctx->error, path, MPI_Comm_rank, node, &rank);
    IO_TRY_MPI(ctx->error, path, MPI_Comm_free, &node);
    nodes = rank == 0;
    IO_TRY_MPI(ctx->error, path, MPI_Allreduce, MPI_IN_PLACE, &nodes, 1, MPI_UINT64_T, MPI_SUM, ctx->comm);
    *count = nodes * ((const adios2_options *)ctx->state)->aggregators;
    if (*count > (uint64_t)ctx->size) *count = (uint64_t)ctx->size;
    return 0;
}

static int choose_engine(adios2_file *f) {
    char text[24];
    uint64_t aggregators = 0;
    CHECK(f, adios2_set_engine, f->io, "BP5");
    if (!f->creating) return 0;
    if (count_aggregators(f->base.ctx, f->base.path, &aggregators)) return -1;
    snprintf(text, sizeof text, "%llu", (unsigned long long)aggregators);
    CHECK(f, adios2_set_parameter, f->io, "NumAggregators", text);
    return 0;
}

static int open_engine(adios2_file *f) {
    const io_ctx *ctx = f->base.ctx;
    f->library = adios2_init_mpi(ctx->comm);
    if (!f->library) return fail(ctx, "adios2_init_mpi", f->base.path, adios2_error_none);
    f->io = adios2_declare_io(f->library, "iokernel");
    if (!f->io) return fail(ctx, "adios2_declare_io", f->base.path, adios2_error_none);
    if (choose_engine(f)) return -1;
    f->engine =
        adios2_open(f->io, f->base.path, f->creating ? adios2_mode_write : adios2_mode_readRandomAccess);
    return f->engine ? 0 : fail(ctx, "adios2_open", f->base.path, adios2_error_none);
}

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, bool creating,
                 io_file **file) {
    adios2_file *f = io_file_new(sizeof *f + (size_t)schema->ndatasets * sizeof *f->variables,
                                 &io_method_adios2, ctx, path, schema);
    if (!f) return -1;
    f->creating = creating;
    f->base.calls += 3;
    *file = &f->base;
    if (!open_engine(f)) return 0;
    if (f->library) adios2_finalize(f->library);
    free(f);
    return -1;
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, true, file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, false, file);
}

/* ---------------------------------------------------------------- variables and attributes */

static int make_variable(adios2_file *f, int dataset) {
    const io_schema *schema = f->base.schema;
    const io_dataset *d = &schema->datasets[dataset];
    size_t shape[IO_MAX_DIMS], zero[IO_MAX_DIMS] = {0};
    for (int i = 0; i < d->ndims; i++) shape[i] = (size_t)schema->dims[d->dim[i]].length;
    f->variables[dataset] = adios2_define_variable(f->io, d->name, file_type[d->type], (size_t)d->ndims,
                                                   shape, zero, zero, adios2_constant_dims_false);
    return f->variables[dataset] ? 0
                                 : fail(f->base.ctx, "adios2_define_variable", d->name, adios2_error_none);
}

static int write_user_attribute(const adios2_file *f, const io_user_attribute *attr) {
    const char *of = attr->dataset < 0 ? "" : f->base.schema->datasets[attr->dataset].name;
    const adios2_attribute *made;
    if (attr->type == IO_CHAR) {
        char *text = strndup(attr->values, (size_t)attr->count);
        if (!text) return io_fail(f->base.ctx->error, "out of memory for attribute %s", attr->name);
        made = adios2_define_variable_attribute(f->io, attr->name, adios2_type_string, text, of, "/");
        free(text);
    } else if (attr->array) {
        made = adios2_define_variable_attribute_array(f->io, attr->name, file_type[attr->type], attr->values,
                                                      (size_t)attr->count, of, "/");
    } else {
        made =
            adios2_define_variable_attribute(f->io, attr->name, file_type[attr->type], attr->values, of, "/");
    }
    return made ? 0 : fail(f->base.ctx, "adios2_define_variable_attribute", attr->name, adios2_error_none);
}

static int make_all(adios2_file *f) {
    const io_schema *schema = f->base.schema;
    adios2_step_status status;
    for (int i = 0; i < schema->ndatasets; i++)
        if (make_variable(f, i)) return -1;
    for (int i = 0; i < schema->nattributes; i++)
        if (!adios2_define_attribute(f->io, schema->attributes[i].name, adios2_type_double,
                                     &schema->attributes[i].value))
            return fail(f->base.ctx, "adios2_define_attribute", f->base.path, adios2_error_none);
    for (int i = 0; i < schema->nuser_attributes; i++)
        if (write_user_attribute(f, &schema->user_attributes[i])) return -1;
    CHECK(f, adios2_begin_step, f->engine, adios2_step_mode_append, -1.0f, &status);
    f->stepping = true;
    return 0;
}

static int find_all(adios2_file *f) {
    const io_schema *schema = f->base.schema;
    for (int i = 0; i < schema->ndatasets; i++) {
        f->variables[i] = adios2_inquire_variable(f->io, schema->datasets[i].name);
        if (!f->variables[i])
            return io_fail_library(f->base.ctx->error, "adios2_inquire_variable", f->base.path,
                                   schema->datasets[i].name);
    }
    return 0;
}

static int define(io_file *file) {
    adios2_file *f = (adios2_file *)file;
    file->calls += (uint64_t)file->schema->ndatasets;
    return f->creating ? make_all(f) : find_all(f);
}

/* ---------------------------------------------------------------- data */

/* Selects the part's hyperslab; `some`: it is not empty. */
static int choose(adios2_file *f, const io_part *part, bool *some) {
    const io_dataset *d = &f->base.schema->datasets[part->dataset];
    size_t first[IO_MAX_DIMS], count[IO_MAX_DIMS];
    *some = io_part_elements(f->base.schema, part) > 0;
    if (!*some) return 0;
    for (int i = 0; i < d->ndims; i++) {
        first[i] = (size_t)part->start[i];
        count[i] = (size_t)part->count[i];
    }
    f->base.calls++;
    CHECK(f, adios2_set_selection, f->variables[part->dataset], (size_t)d->ndims, first, count);
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) {
    adios2_file *f = (adios2_file *)file;
    const bool copied = file->ctx->mode == IO_INDEPENDENT || file->schema->datasets[parts->dataset].small;
    for (int i = 0; i < n; i++) {
        bool some;
        if (choose(f, &parts[i], &some)) return -1;
        if (some)
            CHECK(f, adios2_put, f->engine, f->variables[parts[i].dataset], parts[i].data,
                  copied ? adios2_mode_sync : adios2_mode_deferred);
    }
    if (copied) return 0;
    file->calls++;
    CHECK(f, adios2_perform_data_write, f->engine);
    return 0;
}

static int read_parts(io_file *file, const io_part *parts, int n) {
    adios2_file *f = (adios2_file *)file;
    for (int i = 0; i < n; i++) {
        bool some;
        if (choose(f, &parts[i], &some)) return -1;
        if (some)
            CHECK(f, adios2_get, f->engine, f->variables[parts[i].dataset], parts[i].data,
                  adios2_mode_deferred);
    }
    file->calls++;
    CHECK(f, adios2_perform_gets, f->engine);
    return 0;
}

/* ---------------------------------------------------------------- close */

/* The data and metadata of a step are in the files after its end. */
static int end_step(adios2_file *f) {
    if (!f->stepping) return 0;
    f->stepping = false;
    f->base.calls++;
    CHECK(f, adios2_end_step, f->engine);
    return 0;
}

static int flush_one(const io_ctx *ctx, const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_fail_errno(ctx->error, "open", path, errno);
    const int code = fsync(fd) ? errno : 0;
    close(fd);
    return code ? io_fail_errno(ctx->error, "fsync", path, code) : 0;
}

/* ADIOS2 cannot flush, and does not tell which process wrote which file, so each process flushes all. */
static int sync_file(io_file *file) {
    char path[IO_MAX_PATH + 256];
    int status = end_step((adios2_file *)file);
    int code = MPI_Barrier(file->ctx->comm); /* another process may write for this one */
    if (code) return io_fail_mpi(file->ctx->error, "MPI_Barrier", file->path, code);
    DIR *folder = status ? NULL : opendir(file->path);
    if (!folder) return status ? -1 : io_fail_errno(file->ctx->error, "opendir", file->path, errno);
    for (const struct dirent *entry; !status && (entry = readdir(folder));) {
        if (*entry->d_name == '.') continue;
        snprintf(path, sizeof path, "%s/%s", file->path, entry->d_name);
        file->calls++;
        status = flush_one(file->ctx, path);
    }
    closedir(folder);
    return status;
}

static int close_all(adios2_file *f) {
    if (end_step(f)) return -1;
    f->base.calls++;
    CHECK(f, adios2_close, f->engine);
    return 0;
}

static int close_file(io_file *file) {
    adios2_file *f = (adios2_file *)file;
    int status = close_all(f);
    const adios2_error code = adios2_finalize(f->library);
    if (code != adios2_error_none && !status) status = fail(file->ctx, "adios2_finalize", file->path, code);
    free(f);
    return status;
}

static void version(char *text, size_t size) { snprintf(text, size, "%s", ADIOS2_VERSION_STR); }

static const io_option_functions own = {
    .list = options,
    .state_size = sizeof(adios2_options),
    .defaults = defaults,
    .option = option,
    .configure = configure,
    .describe = describe,
};

const io_method io_method_adios2 = {
    .name = "adios2",
    .summary = "one directory in ADIOS2's BP5 format",
    .extension = ".bp",
    .modes = IO_MODES_OF_adios2,
    .default_mode = IO_COLLECTIVE,
    .traits = IO_FOLDER,
    .create = create,
    .open = open_existing,
    .define = define,
    .write = write_parts,
    .read = read_parts,
    .sync = sync_file,
    .close = close_file,
    .version = version,
    .options = &own,
};
