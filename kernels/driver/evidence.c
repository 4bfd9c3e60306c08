/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/evidence.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void io_found_start(io_found *found, uint64_t steps, io_error *error) {
    *found = (io_found){.hints = MPI_INFO_NULL, .files = json_array()};
    /* Each step has its phases and a series; drain and move of a repeat use slots of a step. */
    found->spans = calloc(steps * (IO_PHASES + IO_DIRECTIONS), sizeof *found->spans);
    if (!found->spans) io_fail(error, "out of memory for the times of %" PRIu64 " steps", steps);
}

void io_found_stop(io_found *found) {
    if (found->hints != MPI_INFO_NULL) MPI_Info_free(&found->hints);
    free(found->offsets);
    free(found->spans);
    json_decref(found->files);
}

int io_record_file(io_found *found, io_world *world, io_file *file) {
    const io_method *m = file->method;
    if (found->noted) return 0;
    found->noted = true;
    if (m->hints) m->hints(file, &found->hints);
    if (io_agree(world)) return -1;
    int n = file->schema->ndatasets;
    found->offsets = malloc((size_t)n * sizeof *found->offsets);
    if (!found->offsets) io_fail(&world->error, "out of memory for %d offsets", n);
    for (int i = 0; found->offsets && i < n; i++)
        if (!m->dataset_offset || m->dataset_offset(file, i, &found->offsets[i]))
            found->offsets[i] = UINT64_MAX;
    return io_agree(world);
}

void io_record_packed(io_session *s, io_file *file) {
    uint64_t bytes = 0;
    if (!s->found || s->repeat || !file->method->stored || !io_mode_has(s->what->mode, IO_COMPRESSES)) return;
    file->method->stored(file, &bytes);
    if (s->own_files || s->world->rank == 0) s->found->packed += bytes;
}

void io_record_size(io_found *found, const char *path, uint64_t bytes) {
    found->file_count++;
    found->file_bytes += bytes;
    if (json_array_size(found->files) < IO_FILES_LISTED)
        json_array_append_new(found->files, json_pack("{s:s,s:I}", "path", path, "bytes", (json_int_t)bytes));
}

/* The multi-dimensional index of an element. */
static void unravel(const io_schema *schema, int dataset, uint64_t index, uint64_t out[IO_MAX_DIMS]) {
    const io_dataset *d = &schema->datasets[dataset];
    for (int i = d->ndims - 1; i >= 0; i--) {
        uint64_t length = schema->dims[d->dim[i]].length;
        out[i] = index % length;
        index /= length;
    }
}

/* Asks the method for the file offset of the first wrong element. */
static bool locate_by_method(io_file *file, const io_check *check, uint64_t *offset) {
    const io_method *m = file->method;
    uint64_t size = io_type_size(file->schema->datasets[check->dataset].type);
    if (m->locate) return !m->locate(file, &check->part, check->local, check->index, offset);
    if (m->traits & IO_FILE_PER_PROCESS) {
        *offset = check->part.offset + check->local * size;
        return true;
    }
    if (!m->dataset_offset || m->dataset_offset(file, check->dataset, offset)) return false;
    *offset += check->index * size;
    return true;
}

/* Methods compute it from the file, which may be damaged: an offset past its end is dropped. */
static bool locate(io_file *file, const io_check *check, uint64_t *offset) {
    struct stat st;
    uint64_t size = io_type_size(file->schema->datasets[check->dataset].type), end;
    return locate_by_method(file, check, offset) && !stat(file->path, &st) &&
           !__builtin_add_overflow(*offset, size, &end) && end <= (uint64_t)st.st_size;
}

void io_verify_part(io_found *found, const io_part *part, const void *facts, io_file *file, uint64_t seed,
                    uint64_t step) {
    bool clean = !found->check.wrong;
    if (facts)
        io_verify_facts(file->schema, part, facts, &found->check);
    else
        io_verify(file->schema, part, seed, step, &found->check);
    if (!clean || !found->check.wrong) return;
    found->located = locate(file, &found->check, &found->wrong_offset);
    unravel(file->schema, found->check.dataset, found->check.index, found->wrong_index);
    snprintf(found->wrong_file, sizeof found->wrong_file, "%s", file->path);
}

/* The value as a number of the data set's type. */
static json_t *value_of(io_type type, uint64_t bits) {
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    switch (type) {
    case IO_FLOAT32: return f - f == 0 ? json_real(f) : json_sprintf("0x%08x", low);
    case IO_FLOAT64: return d - d == 0 ? json_real(d) : json_sprintf("0x%016llx", (unsigned long long)bits);
    case IO_INT32: return json_integer((int32_t)low);
    case IO_INT16: return json_integer((int16_t)low);
    case IO_INT8: return json_integer((int8_t)low);
    case IO_UINT64: return json_sprintf("%llu", (unsigned long long)bits);
    default: return json_integer((json_int_t)bits);
    }
}

static json_t *mismatch(const io_found *found, const io_world *world, const io_schema *schema) {
    const io_dataset *d = &schema->datasets[found->check.dataset];
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    json_t *index = json_array();
    for (int i = 0; i < d->ndims; i++)
        json_array_append_new(index, json_integer((json_int_t)found->wrong_index[i]));
    return json_pack("{s:s,s:o,s:s,s:o,s:o,s:o,s:i,s:s}", "dataset", d->name, "index", index, "file",
                     found->wrong_file, "offset",
                     found->located ? json_integer((json_int_t)found->wrong_offset) : json_null(), "expected",
                     value_of(d->type, found->check.expected), "found", value_of(d->type, found->check.found),
                     "process", world->rank, "host", host);
}

static void no_room(io_world *w) {
    io_fail(&w->error, "out of memory for the results of %d processes; use less data per process", w->size);
}

/* Gathers a JSON text from each process that has one, on process 0 in rank order. */
static void gather_json(io_world *w, const json_t *mine, json_t *all) {
    char *text = mine ? json_dumps(mine, JSON_COMPACT) : NULL, *texts = NULL;
    int n = text ? (int)strlen(text) + 1 : 0, *lengths = NULL, *at = NULL;
    uint64_t length = (uint64_t)n, sum = 0;
    if (mine && !text) no_room(w);
    IO_MPI(w, MPI_Reduce, &length, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, w->comm);
    if (w->rank == 0) {
        lengths = calloc((size_t)w->size, sizeof *lengths);
        at = calloc((size_t)w->size, sizeof *at);
        texts = sum < INT_MAX ? malloc((size_t)sum + 1) : NULL; /* MPI counts in ints */
        if (!lengths || !at || !texts) no_room(w);
    }
    if (io_root_is_able(w, w->comm, lengths && at && texts)) {
        IO_MPI(w, MPI_Gather, &n, 1, MPI_INT, lengths, 1, MPI_INT, 0, w->comm);
        for (int i = 1; at && i < w->size; i++) at[i] = at[i - 1] + lengths[i - 1];
        IO_MPI(w, MPI_Gatherv, text, n, MPI_CHAR, texts, lengths, at, MPI_CHAR, 0, w->comm);
        for (int i = 0; texts && i < w->size; i++)
            if (lengths[i] && json_array_append_new(all, json_loads(texts + at[i], 0, NULL))) no_room(w);
    }
    free(text);
    free(texts);
    free(lengths);
    free(at);
}

void io_summarise(const io_found *found, io_world *w, const io_schema *schema, io_summary *summary) {
    uint64_t mine[] = {found->check.elements, found->check.bytes, found->check.wrong, found->resident,
                       found->cached_bytes,   found->file_bytes,  found->file_count,  found->packed},
             all[8] = {0};
    IO_MPI(w, MPI_Reduce, mine, all, 8, MPI_UINT64_T, MPI_SUM, 0, w->comm);
    *summary =
        (io_summary){all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], json_array(), NULL};
    json_t *first = found->check.wrong ? mismatch(found, w, schema) : NULL, *firsts = json_array();
    /* Only the lists of the first processes are shown. */
    json_t *listed = json_array();
    const json_t *files = w->rank < IO_FILES_LISTED && json_array_size(found->files) ? found->files : NULL;
    gather_json(w, first, firsts);
    gather_json(w, files, listed);
    for (size_t i = 0; i < json_array_size(listed); i++)
        for (size_t j = 0; j < json_array_size(json_array_get(listed, i)); j++)
            if (json_array_size(summary->files) < IO_FILES_LISTED)
                json_array_append(summary->files, json_array_get(json_array_get(listed, i), j));
    summary->first = json_incref(json_array_get(firsts, 0));
    json_decref(first);
    json_decref(firsts);
    json_decref(listed);
}
