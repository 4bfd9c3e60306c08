/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOGAUGE_OPTION_H
#define IOGAUGE_OPTION_H

typedef struct {
    const char *name;  /* long name, or NULL */
    int letter;        /* short name, or a number above 255 */
    const char *value; /* name of the argument, or NULL for a flag */
    const char *help;
} io_option;

#endif
