/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in sanitizer builds: MPI's modules stay loaded until the end, so that the leak detector can
 * tell whose code a leak comes from (lsan.supp) instead of saying <unknown module>. */
#include <dlfcn.h>

int dlclose(void *module) {
    (void)module;
    return 0;
}
