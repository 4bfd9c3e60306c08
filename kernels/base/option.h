/* SPDX-License-Identifier: BSD-3-Clause */
/* What the help says of an option, and what the command line needs to know of it. */
#ifndef IOGAUGE_OPTION_H
#define IOGAUGE_OPTION_H

typedef struct {
    const char *name;  /* long name, or NULL */
    int letter;        /* short name, or a number above 255 */
    const char *value; /* what it takes, or NULL for a flag */
    const char *help;
} io_option;

#endif
