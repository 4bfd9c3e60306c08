/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of every element is a function of (seed, data set, step, global index), so that any process can
 * generate and check any element without communication. */
#ifndef IOGAUGE_VALUES_H
#define IOGAUGE_VALUES_H

#include "base/layout.h"

/* Words in a group; the last `repeated` of them repeat one word (io_dataset). */
#define IO_REPEAT_GROUP 128

/* The value of one element, as its bits in memory (low bytes of the result). */
uint64_t io_value(uint64_t key, io_type type, int repeated, uint64_t index);
uint64_t io_value_key(uint64_t seed, int dataset, uint64_t step);

void io_fill(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step);

typedef struct {
    uint64_t elements, bytes, wrong; /* elements checked, and how many are wrong */
    /* The first wrong element. */
    int dataset;
    uint64_t index, local; /* index in the data set and in the part */
    io_part part;
    uint64_t expected, found; /* bits */
} io_check;

/* Adds its findings to `check`. */
void io_verify(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step, io_check *check);
/* The same for a part whose expected values are given (io_dataset.facts). */
void io_verify_facts(const io_schema *schema, const io_part *part, const void *facts, io_check *check);

#endif
