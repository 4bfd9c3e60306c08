/* SPDX-License-Identifier: BSD-3-Clause */
/* The document written by iogauge replay like (analysis/file_import/document.py uses the same names). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/file.h"

#define MAX_NODE 32 /* of CGNS */
#define MAX_NAME 255
#define MAX_LENGTH ((uint64_t)1 << 48)
#define MAX_BYTES ((uint64_t)1 << 62)

/* One small, uneven variable of each type, and a scalar. */
static const char built_in[] =
    "{'format':'" FILE_FORMAT "','source':'built-in','dimensions':[{'name':'time','length':2},"
    "{'name':'lev','length':5},{'name':'lat','length':13},{'name':'lon','length':18}],'variables':["
    "{'name':'lat','type':'float64','dimensions':['lat']},{'name':'lon','type':'float64','dimensions':['lon']"
    "},"
    "{'name':'crs','type':'int32','dimensions':[]},"
    "{'name':'temperature','type':'float32','dimensions':['time','lev','lat','lon'],'chunk':[1,5,7,9],"
    "'attributes':[{'name':'units','type':'char','values':'K'}]},"
    "{'name':'pressure','type':'float64','dimensions':['time','lat','lon']},"
    "{'name':'count','type':'int64','dimensions':['time','lat','lon']},"
    "{'name':'packed','type':'int16','dimensions':['time','lev','lat','lon'],"
    "'attributes':[{'name':'scale_factor','type':'float64','values':0.01}]},"
    "{'name':'mask','type':'int8','dimensions':['lat','lon']},{'name':'flags','type':'uint8','dimensions':['"
    "lat']},"
    "{'name':'station','type':'uint16','dimensions':['lat','lon']},"
    "{'name':'cell','type':'uint32','dimensions':['lat','lon']},"
    "{'name':'key','type':'uint64','dimensions':['lat','lon']},"
    "{'name':'code','type':'char','dimensions':['lat','lon']}],"
    "'attributes':[{'name':'title','type':'char','values':'built-in'}]}";

static int damaged(const char *path, io_error *error, const char *what, const char *name) {
    return io_fail_usage(error, "--like: %s%s%s; expected a file written by iogauge replay like: %s", what,
                         *name ? " " : "", name, path ? path : "built-in");
}

static json_t *load(const char *path, io_error *error) {
    json_error_t why;
    json_t *found;
    if (path) {
        found = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
        if (found) return found;
        damaged(path, error, "it cannot be read, or is not JSON", "");
        return NULL;
    }
    char *text = strdup(built_in);
    for (char *c = text; text && *c; c++)
        if (*c == '\'') *c = '"';
    found = text ? json_loads(text, 0, &why) : NULL;
    free(text);
    if (!found) io_fail(error, "out of memory for the built-in file");
    return found;
}

static bool is_name(const char *name) {
    size_t n = strlen(name);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) return false;
    return n && n <= MAX_NAME && *name != '/' && name[n - 1] != '/';
}

static bool find_type(const char *name, io_type *type) {
    for (int i = 0; i < IO_TYPES; i++)
        if (!strcmp(io_type_name((io_type)i), name)) {
            *type = (io_type)i;
            return i != IO_BYTE;
        }
    return false;
}

/* ---------------------------------------------------------------- attributes */

/* One number as written by iogauge replay like: a string if JSON cannot represent it. */
static int parse_number(json_t *from, io_type type, char *to) {
    union {
        int64_t i;
        uint64_t u;
    } integer = {0};
    double real = json_is_string(from) ? strtod(json_string_value(from), NULL) : json_number_value(from);
    float single = (float)real;
    if (!json_is_string(from) && !json_is_number(from)) return -1;
    if (json_is_string(from) && type == IO_UINT64)
        integer.u = strtoull(json_string_value(from), NULL, 10);
    else if (json_is_integer(from))
        integer.i = json_integer_value(from);
    const int8_t one = (int8_t)integer.i;
    const int16_t two = (int16_t)integer.i;
    const int32_t four = (int32_t)integer.i;
    const void *value[] = {[1] = &one, [2] = &two, [4] = &four, [8] = &integer};
    uint64_t size = io_type_size(type);
    const void *bits = type == IO_FLOAT32 ? &single : type == IO_FLOAT64 ? (const void *)&real : value[size];
    memcpy(to, bits, size);
    return 0;
}

static int parse_user_attribute(json_t *from, io_user_attribute *attr, void **values) {
    const char *type;
    json_t *found;
    if (json_unpack(from, "{s:s,s:s,s:o}", "name", &attr->name, "type", &type, "values", &found) ||
        !is_name(attr->name) || !find_type(type, &attr->type))
        return -1;
    if (attr->type == IO_CHAR) {
        if (!json_is_string(found)) return -1;
        attr->count = json_string_length(found);
        attr->values = json_string_value(found);
        return 0;
    }
    attr->array = json_is_array(found);
    attr->count = attr->array ? json_array_size(found) : 1;
    uint64_t size = io_type_size(attr->type);
    char *to = *values = calloc(attr->count + 1, size);
    attr->values = to;
    for (size_t i = 0; to && i < attr->count; i++)
        if (parse_number(attr->array ? json_array_get(found, i) : found, attr->type, to + i * size))
            return -1;
    return to && attr->count ? 0 : -1;
}

/* The attributes of a variable, or of the file. */
static int parse_attributes(file_schema *s, json_t *from, int dataset) {
    size_t i;
    json_t *one, *all = json_object_get(from, "attributes");
    if (all && !json_is_array(all)) return -1;
    size_t n = json_array_size(all), before = (size_t)s->schema.nuser_attributes;
    if (!n) return 0;
    io_user_attribute *user_attributes = realloc(s->user_attributes, (before + n) * sizeof *user_attributes);
    if (user_attributes) s->user_attributes = user_attributes;
    void **values = realloc(s->values, (before + n) * sizeof *values);
    if (values) s->values = values;
    if (!user_attributes || !values) return -1;
    json_array_foreach(all, i, one) {
        int at = s->schema.nuser_attributes++;
        user_attributes[at] = (io_user_attribute){.dataset = dataset};
        values[at] = NULL;
        if (parse_user_attribute(one, &user_attributes[at], &values[at])) return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- variables */

static int parse_axes(file_schema *s, json_t *axes, json_t *chunk, io_dataset *d) {
    size_t i;
    json_t *one;
    uint64_t elements = 1;
    if (!json_is_array(axes) || json_array_size(axes) > IO_MAX_DIMS) return -1;
    if (chunk && json_array_size(chunk) != json_array_size(axes)) return -1;
    d->ndims = (int)json_array_size(axes);
    json_array_foreach(axes, i, one) {
        const char *name = json_string_value(one);
        d->dim[i] = name ? file_schema_dim(s, name, strlen(name)) : -1;
        if (d->dim[i] < 0) return -1;
        uint64_t length = s->dims[d->dim[i]].length;
        json_int_t piece = chunk ? json_integer_value(json_array_get(chunk, i)) : 0;
        if (chunk && (piece < 1 || (uint64_t)piece > length)) return -1;
        d->chunk[i] = (uint64_t)piece;
        if (__builtin_mul_overflow(elements, length, &elements) || elements > MAX_BYTES / 8) return -1;
    }
    if (d->ndims) return 0;
    d->ndims = 1; /* a scalar, which a process moves independently */
    d->dim[0] = s->named;
    d->small = true;
    return 0;
}

/* Reads a member and its shape; adds its size in bytes. */
static int parse_member(json_t *from, io_member *m, uint64_t *bytes) {
    const char *type;
    json_t *shape, *one;
    size_t i;
    if (json_unpack(from, "{s:s,s:s,s:o}", "name", &m->name, "type", &type, "shape", &shape) ||
        !is_name(m->name) || !find_type(type, &m->type) || !json_is_array(shape) ||
        json_array_size(shape) > IO_MAX_DIMS)
        return -1;
    m->count = 1;
    json_array_foreach(shape, i, one) {
        json_int_t length = json_integer_value(one);
        if (length < 1 || length > IO_MAX_ELEMENT) return -1;
        m->shape[m->ndims++] = (uint64_t)length;
        m->count *= (uint64_t)length;
    }
    *bytes += m->count * io_type_size(m->type);
    return *bytes > IO_MAX_ELEMENT ? -1 : 0;
}

/* Makes the variable a compound: its members, and one more dimension, of the bytes of an element. */
static int parse_members(file_schema *s, json_t *all, io_dataset *d) {
    size_t i, n = json_array_size(all);
    json_t *one;
    uint64_t bytes = 0, elements = 1;
    if (!all) return 0;
    io_member *members = calloc(n + 1, sizeof *members);
    d->members = members;
    if (!members || !n || d->small || d->ndims == IO_MAX_DIMS) return -1;
    json_array_foreach(all, i, one) {
        if (parse_member(one, &members[i], &bytes)) return -1;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(members[k].name, members[i].name)) return -1;
    }
    for (int k = 0; k < d->ndims; k++) elements *= s->dims[d->dim[k]].length;
    if (elements > MAX_BYTES / 8 / bytes) return -1;
    d->nmembers = (int)n;
    d->dim[d->ndims++] = s->schema.ndims;
    s->dims[s->schema.ndims++] = (io_dim){"bytes of an element", bytes};
    return 0;
}

/* [["shuffle", 0], ["deflate", 4]]: names and levels. */
static int parse_filters(json_t *all, io_filters *filters) {
    size_t i;
    json_t *one;
    if (all && !json_is_array(all)) return -1;
    json_array_foreach(all, i, one) {
        const char *name;
        int level;
        if (json_unpack(one, "[s,i!]", &name, &level) || !io_filters_add(filters, name, strlen(name), level))
            return -1;
    }
    return 0;
}

/* Makes the variable an array of a mesh: its zone, its role, and its name in the zone. */
static int parse_mesh(json_t *one, const io_dataset *before, io_dataset *d) {
    static const char *const roles[] = {[IO_FIELD] = "field",
                                        [IO_COORDINATE] = "coordinate",
                                        [IO_CONNECTIVITY] = "connectivity",
                                        [IO_USER_ARRAY] = "user-array"};
    const char *role = json_string_value(json_object_get(one, "role"));
    d->zone = before ? before->zone : 0;
    if (!role) return 0;
    json_int_t zone = json_integer_value(json_object_get(one, "zone"));
    d->node = json_string_value(json_object_get(one, "node"));
    if (!d->node || !is_name(d->node) || strlen(d->node) > MAX_NODE) return -1;
    if (zone < 0 || zone > d->zone + (before ? 1 : 0) || zone < d->zone) return -1;
    d->zone = (int)zone;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i] && !strcmp(roles[i], role)) {
            d->role = (io_role)i;
            return 0;
        }
    return -1;
}

static int parse_variables(file_schema *s, const char *path, io_error *error) {
    json_t *all = json_object_get(s->document, "variables"), *one, *axes;
    size_t i;
    uint64_t bytes = 0;
    if (!json_is_array(all) || !json_array_size(all) || json_array_size(all) > FILE_MAX_DATASETS)
        return damaged(path, error, "no variables, or too many", "");
    s->datasets = calloc(json_array_size(all), sizeof *s->datasets);
    if (!s->datasets) return io_fail(error, "out of memory for %zu variables", json_array_size(all));
    s->schema.datasets = s->datasets;
    json_array_foreach(all, i, one) {
        io_dataset *d = &s->datasets[i];
        const char *type;
        *d = (io_dataset){.role = IO_FIELD};
        if (json_unpack(one, "{s:s,s:s,s:o}", "name", &d->name, "type", &type, "dimensions", &axes) ||
            !is_name(d->name))
            return damaged(path, error, "a variable without name, type or dimensions", "");
        if (json_object_get(one, "members")) type = "uint8";
        if (!find_type(type, &d->type)) return damaged(path, error, "unknown type of variable", d->name);
        if (parse_axes(s, axes, json_object_get(one, "chunk"), d))
            return damaged(path, error, "invalid dimensions or chunks of variable", d->name);
        if (parse_mesh(one, i ? d - 1 : NULL, d))
            return damaged(path, error, "invalid position in the mesh of variable", d->name);
        if (parse_filters(json_object_get(one, "filters"), &d->filters))
            return damaged(path, error, "unknown filters of variable", d->name);
        s->schema.ndatasets++;
        if (parse_members(s, json_object_get(one, "members"), d))
            return damaged(path, error, "invalid members of variable", d->name);
        if (parse_attributes(s, one, (int)i))
            return damaged(path, error, "invalid attribute of variable", d->name);
        bytes += io_dataset_bytes(&s->schema, (int)i);
        if (bytes > MAX_BYTES) return damaged(path, error, "more than 2^62 bytes", "");
        for (size_t k = 0; k < i; k++)
            if (!strcmp(s->datasets[k].name, d->name)) return damaged(path, error, "two variables", d->name);
    }
    return 0;
}

/* ---------------------------------------------------------------- dimensions */

static size_t compounds(const file_schema *s) {
    json_t *one;
    size_t i, n = 0;
    json_array_foreach(json_object_get(s->document, "variables"), i, one) n +=
        json_object_get(one, "members") != NULL;
    return n;
}

static int parse_dimensions(file_schema *s, const char *path, io_error *error) {
    json_t *all = json_object_get(s->document, "dimensions"), *one;
    size_t i, n = json_array_size(all), most = n + 1 + compounds(s);
    if (!json_is_array(all) || most > FILE_MAX_DIMS)
        return damaged(path, error, "no list of dimensions, or too many", "");
    s->dims = calloc(most, sizeof *s->dims);
    s->cuts = calloc(most, sizeof *s->cuts);
    if (!s->dims || !s->cuts) return io_fail(error, "out of memory for %zu dimensions", n);
    s->schema.dims = s->dims;
    s->named = (int)n;
    s->schema.ndims = (int)n + 1;
    for (i = 0; i <= n; i++) s->dims[i] = (io_dim){"", 1};
    json_array_foreach(all, i, one) {
        json_int_t length;
        const char *name;
        json_t *list = json_object_get(one, "list");
        if (json_unpack(one, "{s:s,s:I}", "name", &name, "length", &length) || !is_name(name) || length < 1 ||
            (uint64_t)length > MAX_LENGTH)
            return damaged(path, error, "a dimension without name or length", "");
        if (file_schema_dim(s, name, strlen(name)) >= 0) return damaged(path, error, "two dimensions", name);
        s->dims[i] = (io_dim){name, (uint64_t)length};
        if (list && file_cut_read(&s->cuts[i], list, (uint64_t)length))
            return damaged(path, error, "a list that does not contain each point once, of dimension", name);
    }
    return 0;
}

int file_schema_read(const char *path, file_schema *s, io_error *error) {
    const char *format;
    *s = (file_schema){.document = load(path, error)};
    if (!s->document) return -1;
    if (json_unpack(s->document, "{s:s,s:s}", "format", &format, "source", &s->source) ||
        strcmp(format, FILE_FORMAT))
        return damaged(path, error, "not " FILE_FORMAT, "");
    if (parse_dimensions(s, path, error) || parse_variables(s, path, error)) return -1;
    const char *map = file_maps_read(s);
    if (map) return damaged(path, error, "a map that does not contain each point once, of dimensions", map);
    if (parse_attributes(s, s->document, -1))
        return damaged(path, error, "invalid attribute of the file", "");
    s->schema.user_attributes = s->user_attributes;
    return 0;
}

void file_schema_release(file_schema *s) {
    for (int i = 0; s->values && i < s->schema.nuser_attributes; i++) free(s->values[i]);
    for (int i = 0; s->cuts && i < s->schema.ndims; i++) file_cut_release(&s->cuts[i]);
    file_maps_release(s);
    for (int i = 0; s->datasets && i < s->schema.ndatasets; i++)
        free((void *)(uintptr_t)s->datasets[i].members);
    free(s->values);
    free(s->user_attributes);
    free(s->datasets);
    free(s->dims);
    free(s->cuts);
    json_decref(s->document);
}
