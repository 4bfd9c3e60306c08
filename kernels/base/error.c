/* SPDX-License-Identifier: BSD-3-Clause */
/* Error messages: process, host, call, library message, file, and what to do. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#include <mpi.h>

/* What to do, by errno and by MPI error class. */
static const struct {
    int code, class;
    const char *advice;
} advice[] = {
    {ENOENT, MPI_ERR_NO_SUCH_FILE, "create the directory first, or use another one"                      },
    {EACCES, MPI_ERR_ACCESS,       "use a --dir that this user can write to"                             },
    {EROFS,  MPI_ERR_READ_ONLY,    "use a --dir on a writable file system"                               },
    {ENOSPC, MPI_ERR_NO_SPACE,     "free space there, reduce the data size, or use another --dir"        },
    {EDQUOT, MPI_ERR_QUOTA,        "free some quota, reduce the data size, or use another --dir"         },
    {EFBIG,  MPI_ERR_UNKNOWN,      "raise the file size limit (ulimit -f), or reduce the data size"      },
    {EIO,    MPI_ERR_IO,           "check free space, quota and the state of the file system (df, dmesg)"},
};

/* What to do if a call of MPI fails that is not for a file, by the beginning of its name. */
static const struct {
    const char *call, *advice;
} advice_by_call[] = {
    {"MPI_Info_", "check names and values of the hints (--hint)"                                        },
    {"MPI_Win_",  "check the free memory of the node, also in /dev/shm and in the folder of TMPDIR"     },
    {"MPI_Type_", "report it to the MPI library, with its version (iokernel --version) and this command"},
    {"MPI_Get_",  "report it to the MPI library, with its version (iokernel --version) and this command"},
    {"",          "check whether another process has ended, and the state of the nodes and the network" },
};

static const char *advice_for(int code, int class) {
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if ((code && advice[i].code == code) || (class && advice[i].class == class)) return advice[i].advice;
    return "check the directory, its free space, quota and permissions";
}

static const char *advice_for_mpi(const char *call, int class) {
    size_t i = 0;
    if (!strncmp(call, "MPI_File_", strlen("MPI_File_"))) return advice_for(0, class);
    while (strncmp(call, advice_by_call[i].call, strlen(advice_by_call[i].call))) i++;
    return advice_by_call[i].advice;
}

void io_replace_controls(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        bool second_set = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
        if (second_set) *c++ = '?';
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
        else if (*c < ' ' || *c == 0x7f || second_set)
            *c = '?';
    }
}

static void set_text(io_error *error, bool located, const char *format, va_list args) {
    if (error->set) return;
    error->set = true;
    size_t used = 0;
    int ready = 0, done = 1;
    MPI_Initialized(&ready);
    MPI_Finalized(&done);
    if (located && ready && !done) {
        char host[256] = "?";
        int rank = -1;
        gethostname(host, sizeof host - 1);
        if (MPI_Comm_rank(MPI_COMM_WORLD, &rank)) rank = -1;
        used = (size_t)snprintf(error->text, sizeof error->text, "process %d on %s: ", rank, host);
    }
    vsnprintf(error->text + used, sizeof error->text - used, format, args);
    io_replace_controls(error->text);
}

int io_fail(io_error *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_text(error, true, format, args);
    va_end(args);
    return -1;
}

int io_fail_usage(io_error *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!error->set) error->usage = true;
    set_text(error, false, format, args);
    va_end(args);
    return -1;
}

int io_fail_errno(io_error *error, const char *call, const char *path, int code) {
    return io_fail(error, "%s: %s: %s; %s", call, strerror(code), path, advice_for(code, 0));
}

int io_fail_mpi(io_error *error, const char *call, const char *path, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, class = MPI_ERR_OTHER;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &class);
    return io_fail(error, "%s: %s%s%s; %s", call, text, path ? ": " : "", path ? path : "",
                   advice_for_mpi(call, class));
}

int io_fail_library(io_error *error, const char *call, const char *path, const char *message) {
    return io_fail(error, "%s: %s: %s; %s", call, message, path, advice_for(0, 0));
}

#define SECONDS_BEFORE_AN_ERROR 3
#define SECONDS_TO_BE_READ 10 /* by a launcher that gets little of a busy node, or none */

/* Until stderr is read, if it is a pipe, at most so long. */
static void wait_until_read(int seconds) {
    const struct timespec moment = {.tv_nsec = 10000000};
    struct stat out;
    int unread = 0;
    bool is_pipe = !fstat(STDERR_FILENO, &out) && S_ISFIFO(out.st_mode);
    for (int i = 0; is_pipe && i < 100 * seconds; i++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &unread) || !unread) break;
        nanosleep(&moment, NULL);
    }
}

/* Open MPI 5's launcher reads 4096 bytes at a time. A line of which it has read a part, behind warnings of
 * the library, is not printed whole: its end comes before its beginning. */
bool io_print_error(const char *format, ...) {
    char text[16384], line[sizeof text + 32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int n = snprintf(line, sizeof line, "iokernel: error: %s\n", text);
    wait_until_read(SECONDS_BEFORE_AN_ERROR);
    return write(STDERR_FILENO, line, (size_t)n) == n;
}

void io_wait_to_be_heard(void) {
    wait_until_read(SECONDS_TO_BE_READ);
    sleep(1); /* for what is on its way */
}
