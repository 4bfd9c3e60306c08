/* SPDX-License-Identifier: BSD-3-Clause */
/* Every element's value is a function of (seed, data set, step, global index), so that any process
 * can make and check any element without asking another. */
#ifndef IOGAUGE_VALUES_H
#define IOGAUGE_VALUES_H

#include "base/layout.h"

/* Words of a group, in which a data set's last `calm` repeat one: io_dataset. */
#define IO_CALM_GROUP 128

/* The value of one element, as the bits that stand in memory (low bytes of the result). */
uint64_t io_value(uint64_t key, io_type type, int calm, uint64_t index);
uint64_t io_value_key(uint64_t seed, int dataset, uint64_t step);

void io_fill(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step);

typedef struct {
    uint64_t elements, bytes, wrong; /* checked, and of them wrong */
    /* The first wrong element. */
    int dataset;
    uint64_t index, local; /* in the data set; in the part */
    io_part part;
    uint64_t expected, found; /* bits */
} io_check;

/* Adds what it finds to `check`. */
void io_verify(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step, io_check *check);
/* The same for a part whose right values are at hand (io_dataset.facts). */
void io_verify_facts(const io_schema *schema, const io_part *part, const void *facts, io_check *check);

#endif
