/* SPDX-License-Identifier: BSD-3-Clause */
/* To preload: the time of day is an hour earlier from when the file that IOGAUGE_CLOCK_BACK names is there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static time_t back(void) {
    const char *path = getenv("IOGAUGE_CLOCK_BACK");
    return path && !syscall(SYS_faccessat, AT_FDCWD, path, F_OK, 0) ? 3600 : 0;
}
int clock_gettime(clockid_t which, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, which, now);
    if (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE) now->tv_sec -= back();
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    (void)zone;
    struct timespec here;
    clock_gettime(CLOCK_REALTIME, &here);
    *now = (struct timeval){here.tv_sec, here.tv_nsec / 1000};
    return 0;
}
time_t time(time_t *now) {
    struct timespec here;
    clock_gettime(CLOCK_REALTIME, &here);
    if (now) *now = here.tv_sec;
    return here.tv_sec;
}
