/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the tests' build, in place of libcurl, by which HDF5 and netCDF read over a network: 25 libraries
 * less to load, so a short job takes four fifths of the CPU time. What would open a connection fails. */
#include <stddef.h>

enum { OK, FAILED = 2, WORDS = 16 };

void *curl_easy_init(void);
void curl_easy_cleanup(void *handle);
int curl_easy_setopt(void *handle, int option, ...);
int curl_easy_perform(void *handle);
int curl_easy_getinfo(void *handle, int info, ...);
const char *curl_easy_strerror(int error);
int curl_global_init(long flags);
void curl_global_cleanup(void);
void *curl_slist_append(void *list, const char *text);
void curl_slist_free_all(void *list);
const void *curl_version_info(int age);

void *curl_easy_init(void) { return NULL; }

void curl_easy_cleanup(void *handle) { (void)handle; }

int curl_easy_setopt(void *handle, int option, ...) {
    (void)handle, (void)option;
    return FAILED;
}

int curl_easy_perform(void *handle) {
    (void)handle;
    return FAILED;
}

int curl_easy_getinfo(void *handle, int info, ...) {
    (void)handle, (void)info;
    return FAILED;
}

const char *curl_easy_strerror(int error) {
    (void)error;
    return "the tests' libcurl opens no connection";
}

int curl_global_init(long flags) {
    (void)flags;
    return OK;
}

void curl_global_cleanup(void) {}

void *curl_slist_append(void *list, const char *text) {
    (void)list, (void)text;
    return NULL;
}

void curl_slist_free_all(void *list) { (void)list; }

/* Its lists have no entry, and its names are empty. */
const void *curl_version_info(int age) {
    static const char *const none[1];
    static const void *const version[WORDS] = {[8] = none};
    (void)age;
    return version;
}
