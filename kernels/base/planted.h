/* SPDX-License-Identifier: BSD-3-Clause */
/* The preloaded recorder plants wrong bytes in data that was read, to see that the verification notices them.
 * Both functions are its own, and NULL without it. */
#ifndef IOGAUGE_PLANTED_H
#define IOGAUGE_PLANTED_H

#include <stdint.h>

/* Before the verification of `bytes` bytes at `data`: a byte of them may be changed. `all`: this process's
 * bytes of the step; `offset`: where these begin in them. */
void iogauge_plant(uint64_t repeat, uint64_t step, uint64_t all, uint64_t offset, void *data, uint64_t bytes)
    __attribute__((weak));
/* Was the wrong byte of this element planted? Then it is right again. */
int iogauge_take_back(void *element, uint64_t size) __attribute__((weak));

#endif
