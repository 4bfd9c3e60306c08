/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in sanitizer builds: what lets the leak detector name the library of a leak (lsan.supp). */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI's modules stay loaded until the end; else their frames are in an <unknown module>. */
int dlclose(void *module) {
    (void)module;
    return 0;
}

/* Libraries, built with _FORTIFY_SOURCE, make their texts by these. The C library has no frame pointers, so
 * there the fast unwinder ends; here it goes on to the library that called. */
int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments);
int __asprintf_chk(char **text, int flag, const char *format, ...);

int vasprintf(char **text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = length < 0 ? NULL : malloc((size_t)length + 1);
    return *text ? vsnprintf(*text, (size_t)length + 1, format, arguments) : -1;
}

int __vasprintf_chk(char **text, int flag, const char *format, va_list arguments) {
    (void)flag;
    return vasprintf(text, format, arguments);
}

int asprintf(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

int __asprintf_chk(char **text, int flag, const char *format, ...) {
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}
