/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/data.h"

#include <string.h>

static const struct {
    const char *name;
    uint64_t size;
} types[IO_TYPES] = {
    [IO_BYTE] = {"byte",    1},
      [IO_INT32] = {"int32",   4},
      [IO_INT64] = {"int64",   8},
    [IO_FLOAT32] = {"float32", 4},
      [IO_FLOAT64] = {"float64", 8},
      [IO_INT8] = {"int8",    1},
    [IO_UINT8] = {"uint8",   1},
      [IO_CHAR] = {"char",    1},
      [IO_INT16] = {"int16",   2},
    [IO_UINT16] = {"uint16",  2},
      [IO_UINT32] = {"uint32",  4},
      [IO_UINT64] = {"uint64",  8},
};

const char *io_type_name(io_type type) { return types[type].name; }
uint64_t io_type_size(io_type type) { return types[type].size; }
bool io_is_scalar(const io_schema *schema, const io_dataset *dataset) {
    return dataset->ndims == 1 && !*schema->dims[dataset->dim[0]].name;
}

int io_rank(const io_dataset *dataset) { return dataset->ndims - (dataset->nmembers ? 1 : 0); }

uint64_t io_element_values(const io_schema *schema, const io_dataset *dataset) {
    return dataset->nmembers ? schema->dims[dataset->dim[dataset->ndims - 1]].length : 1;
}

const char *io_first_compound(const io_schema *schema) {
    for (int i = 0; i < schema->ndatasets; i++)
        if (schema->datasets[i].nmembers) return schema->datasets[i].name;
    return NULL;
}

const char *io_first_in_group(const io_schema *schema) {
    for (int i = 0; i < schema->ndatasets; i++)
        if (strchr(schema->datasets[i].name, '/')) return schema->datasets[i].name;
    return NULL;
}
