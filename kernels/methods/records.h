/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran unformatted sequential records, as gfortran writes them: the data between two int32 that hold
 * its length in bytes. */
#ifndef IOGAUGE_RECORDS_H
#define IOGAUGE_RECORDS_H

#include "methods/posix_file.h"

/* Moves parts whose rows are records (io_schema.records), with as few calls as the system allows. Reading
 * checks every length. */
int io_records_move(io_posix_file *file, const io_part *parts, int n, bool writing);

/* Where element `local` of a part stands in the file. */
uint64_t io_records_offset(const io_schema *schema, const io_part *part, uint64_t local);

#endif
