/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in sanitizer builds: MPI's modules stay loaded until the end, so that the leak detector can name the
 * library of a leak (lsan.supp) instead of <unknown module>. */
#include <dlfcn.h>

int dlclose(void *module) {
    (void)module;
    return 0;
}
