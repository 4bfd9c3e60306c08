/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of a run besides times: hints in effect, files, caches, and every wrong byte. */
#ifndef IOGAUGE_EVIDENCE_H
#define IOGAUGE_EVIDENCE_H

#include <jansson.h>

#include "driver/sample.h"
#include "driver/session.h"
#include "driver/values.h"

/* A phase of one step, from the start on the first process to the end on the last one, in Unix time. */
typedef struct {
    uint64_t repeat;
    int direction;
    const char *phase; /* or "series": the files after the first, which each process handles independently */
    double begin, end;
} io_span;

struct io_found {
    bool noted;
    MPI_Info hints;                  /* in effect on process 0; MPI_INFO_NULL for none */
    uint64_t *offsets;               /* of data sets in the file; UINT64_MAX: not contiguous */
    uint64_t resident, cached_bytes; /* of this process's files, just before reading, all repeats */
    uint64_t file_bytes, file_count; /* of this process, first repeat */
    uint64_t packed;                 /* compressed data: bytes stored in the files of this process */
    json_t *files;                   /* the first IO_FILES_LISTED of them */
    io_check check;                  /* of this process, all repeats */
    bool located;                    /* wrong_offset is known */
    uint64_t wrong_offset, wrong_index[IO_MAX_DIMS];
    char wrong_file[IO_MAX_PATH];
    io_span *spans; /* sorted by time, all repeats */
    uint64_t nspans;
};
#define IO_FILES_LISTED 64

/* Allocates for all repeats of a run with that many steps. Sets the error on failure. */
void io_found_start(io_found *found, uint64_t steps, io_error *error);
void io_found_stop(io_found *found);

/* Records the hints in effect and the offsets of data sets, once. Called by all processes. */
int io_record_file(io_found *found, io_world *world, io_file *file);
/* For compressing modes, first repeat: the bytes that the data occupies in a file. */
void io_record_packed(io_session *s, io_file *file);
void io_record_size(io_found *found, const char *path, uint64_t bytes);
/* Verifies a part, against `facts` if not NULL; records the first wrong element. */
void io_verify_part(io_found *found, const io_part *part, const void *facts, io_file *file, uint64_t seed,
                    uint64_t step);

/* Sums over processes, on process 0. The first mismatch is from the lowest process. */
typedef struct {
    uint64_t elements, bytes, wrong, resident, cached_bytes, file_bytes, file_count, packed;
    json_t *files, *first; /* first: the mismatch, or NULL */
} io_summary;
void io_summarise(const io_found *found, io_world *world, const io_schema *schema, io_summary *summary);

#endif
