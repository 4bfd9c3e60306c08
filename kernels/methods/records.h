/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran unformatted sequential records, as written by gfortran: data between two int32 with its length in
 * bytes. */
#ifndef IOGAUGE_RECORDS_H
#define IOGAUGE_RECORDS_H

#include "methods/posix_file.h"

/* Moves parts whose rows are records (io_schema.records), with as few calls as possible. Reading checks every
 * length. */
int io_records_move(io_posix_file *file, const io_part *parts, int n, bool writing);

/* The file offset of element `local` of a part. */
uint64_t io_records_offset(const io_schema *schema, const io_part *part, uint64_t local);

#endif
