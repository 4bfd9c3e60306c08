/* SPDX-License-Identifier: BSD-3-Clause */
/* Method twophase writes the formats of other methods. One process creates the file with the other method,
 * asks for the offsets of its data sets, and closes it: the library writes everything around the data. */
#include <stdio.h>
#include <string.h>

#include "methods/registry.h"
#include "methods/twophase.h"

#define BIG_ENDIAN_IS_OTHER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static int check_cdf5(const io_schema *schema, const io_choice *choice, io_error *error) {
    (void)choice;
    const char *name = io_first_in_group(schema), *compound = io_first_compound(schema);
    if (compound)
        return io_fail_usage(error,
                             "method twophase with --format cdf5 does not support compounds (data set %s); "
                             "use --format raw or hdf5, or iogauge replay like --skip",
                             compound);
    if (name)
        return io_fail_usage(error,
                             "method twophase with --format cdf5 does not support groups (data set %s); "
                             "use --format raw or hdf5, or iogauge replay like --only",
                             name);
    if (!schema->grows) return 0;
    return io_fail_usage(error, "method twophase with --format cdf5 does not support record variables, whose "
                                "records are interleaved in the file; use --format raw, or method pnetcdf");
}

static int refuse_chunks(const io_schema *schema, const io_choice *choice, io_error *error) {
    (void)choice;
    for (int i = 0; i < schema->ndatasets; i++)
        if (schema->datasets[i].chunk[0])
            return io_fail_usage(
                error,
                "method twophase with --format hdf5 writes contiguous data sets only, and data set "
                "%s is chunked; use method hdf5, or iogauge replay like --contiguous",
                schema->datasets[i].name);
    return 0;
}

static const twophase_format formats[] = {
    {"raw",  "posix-shared", false,               NULL         },
    {"cdf5", "pnetcdf",      BIG_ENDIAN_IS_OTHER, check_cdf5   },
    {"hdf5", "hdf5",         false,               refuse_chunks},
};

const twophase_format *twophase_format_find(const char *name, io_error *error) {
    char names[64] = "";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!strcmp(formats[i].name, name)) return &formats[i];
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", formats[i].name);
    }
    io_fail_usage(error, "--format %s: expected one of %s", name, names);
    return NULL;
}

int twophase_format_place(const twophase_file *f, bool creating, uint64_t *offsets) {
    const io_file *base = &f->posix.base;
    const io_method *maker = f->options->maker;
    io_ctx self = *base->ctx;
    io_file *file = NULL;
    self.comm = MPI_COMM_SELF;
    self.rank = 0;
    self.size = 1;
    self.mode = maker->default_mode;
    self.state = NULL;
    if ((creating ? io_method_create : io_method_open)(maker, &self, base->path, base->schema, &file))
        return -1;
    int status = 0;
    for (int i = 0; i < base->schema->ndatasets && !status; i++)
        if (maker->dataset_offset(file, i, &offsets[i]))
            status = io_fail(base->ctx->error, "data set %s is not contiguous in the file: %s",
                             base->schema->datasets[i].name, base->path);
    return maker->close(file) || status ? -1 : 0;
}
