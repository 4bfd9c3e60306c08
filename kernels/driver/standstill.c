/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/standstill.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const places[IO_PLACES] = {
    [IO_AT_START] = "starting",
    [IO_AT_OTHERS] = "waiting for other processes",
    [IO_AT_CREATE] = "creating",
    [IO_AT_DEFINE] = "defining",
    [IO_AT_WRITE] = "writing",
    [IO_AT_SYNC] = "flushing",
    [IO_AT_CLOSE] = "closing",
    [IO_AT_OPEN] = "opening",
    [IO_AT_READ] = "reading",
    [IO_AT_READDIR] = "reading the folder",
    [IO_AT_STAT] = "stat",
    [IO_AT_REMOVE] = "removing",
    [IO_AT_FILES] = "checking files",
    [IO_AT_VALUES] = "generating or verifying values",
    [IO_AT_COMPUTE] = "computing",
    [IO_AT_SERVE] = "serving",
    [IO_AT_DRAIN] = "draining",
    [IO_AT_MOVE] = "moving files",
    [IO_AT_END] = "ending",
};

static const char *place_of(const io_pulse *p) { return places[p->at]; }

char io_state_in(const char *stat) {
    const char *after = strrchr(stat, ')'); /* the program's name may contain any character */
    return after && after[1] && after[2] ? after[2] : '?';
}

char io_process_state(int pid) {
    char name[64], text[256];
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n < 0) return '?';
    text[n] = '\0';
    return io_state_in(text);
}

static bool is_stopped(const io_pulse *p) {
    char state = io_process_state(p->pid);
    return state == 'T' || state == 't';
}

bool io_is_cause(const io_pulse *p) { return p->failed || is_stopped(p); }

int io_blame(const io_pulse *p) {
    char state = io_process_state(p->pid);
    bool waits = p->at == IO_AT_OTHERS || p->at == IO_AT_SERVE;
    if (p->failed) return 4;
    if (state == 'T' || state == 't') return 3;
    return waits ? 0 : state == 'R' ? 1 : 2;
}

int io_find_hung(const io_pulse *all, int n) {
    int found = 0, most = -1;
    for (int i = 0; i < n; i++) {
        int mine = io_blame(&all[i]);
        if (mine > most) found = i, most = mine;
    }
    return found;
}

static void clock_text(double since, char *text, size_t size) {
    time_t t = (time_t)since;
    struct tm parts;
    if (!gmtime_r(&t, &parts) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts)) *text = '\0';
}

__attribute__((format(printf, 3, 4))) static void add(char *line, size_t size, const char *format, ...) {
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, size - used, format, args);
    va_end(args);
}

/* How many other processes are named. */
#define OTHERS_NAMED 4

static void say_others(const io_pulse *all, int n, int which, char *line, size_t size) {
    int named = 0;
    for (int i = 0; i < n && named < OTHERS_NAMED; i++) {
        if (i == which) continue;
        add(line, size, "%sprocess %d is %s%s", named ? ", " : "; meanwhile ", all[i].rank, place_of(&all[i]),
            is_stopped(&all[i]) ? " (stopped)" : "");
        named++;
    }
    if (n - 1 > named) add(line, size, ", and %d more", n - 1 - named);
}

void io_describe_hang(const io_pulse *all, int n, int which, double patience, char *line, size_t size) {
    const io_pulse *p = &all[which];
    char host[IO_HOST_NAME] = "?", since[32];
    gethostname(host, sizeof host - 1);
    clock_text(p->since, since, sizeof since);
    snprintf(line, size, "process %d on %s: no progress for %g s (--patience), since %s: it is %s", p->rank,
             host, patience, since, place_of(p));
    if (is_stopped(p)) add(line, size, ", stopped by a signal");
    if (*p->phase)
        add(line, size, ", in phase %s of method %s, step %" PRIu64 ", repeat %" PRIu64 ": %s", p->phase,
            p->method, p->step + 1, p->repeat + 1, p->path);
    if (p->failed) add(line, size, "; before, it failed: %s", p->message);
    say_others(all, n, which, line, size);
    io_replace_controls(line);
}
