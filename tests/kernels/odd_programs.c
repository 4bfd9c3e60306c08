/* SPDX-License-Identifier: BSD-3-Clause */
/* What production programs also do, in the current folder: for test_recorder_programs.py.
 *
 *     odd_programs KIND */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Since glibc 2.34; under the recorder always. */
#pragma weak close_range
#pragma weak closefrom
int close_range(unsigned, unsigned, int);
void closefrom(int);

#define MUST(WHAT) must((WHAT), #WHAT)
static void must(bool right, const char *what) {
    if (right) return;
    dprintf(2, "%s: %s\n", what, strerror(errno));
    _exit(9);
}
static int file(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT, 0666);
    MUST(fd >= 0);
    return fd;
}
static void put(int fd) { MUST(write(fd, "0123456789", 10) == 10); }

/* A profiler's samples, while the program writes; and a handler that ends it. */
static int samples;
static volatile sig_atomic_t taken;
static void sample(int number) {
    int code = errno, fd = open("opened", O_WRONLY | O_CREAT | O_APPEND, 0666);
    (void)number;
    put(samples);
    put(fd);
    close(fd);
    taken++;
    errno = code;
}
/* Writes until `handler` has run so often. A timer for each, or a slow handler would leave no time. */
static int write_until(int often, void handler(int)) {
    int fd = file("data"), n = 0;
    struct itimerval soon = {.it_value.tv_usec = 300};
    signal(SIGALRM, handler);
    for (int before = -1; taken < often; n++) {
        if (taken != before) {
            before = taken; /* no timer runs now */
            MUST(!setitimer(ITIMER_REAL, &soon, NULL));
        }
        put(fd);
    }
    return n;
}
static void profiled(void) {
    samples = file("samples");
    int n = write_until(300, sample);
    printf("%d %d\n", n, (int)taken);
}
static void ends(int number) {
    (void)number;
    _exit(3);
}
static void ended(void) { write_until(1, ends); }
static void forks(int number) {
    (void)number;
    pid_t child = fork();
    if (!child) {
        put(open("child", O_WRONLY | O_CREAT | O_APPEND, 0666));
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0) == child);
    taken++;
}
static void forked(void) {
    write_until(30, forks);
    printf("%d\n", (int)taken);
}

static void vforked(void) {
    int a = file("a"), b = file("b"), null = open("/dev/null", O_WRONLY);
    pid_t child = vfork();
    if (!child) {
        close(a);
        dup2(null, b);
        closefrom(3);
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0) == child);
    put(a);
    put(b);
}

/* Each closes a descriptor, of which the next pipe gets the number. */
static void reused(int fd) {
    int ends_of[2];
    MUST(!pipe(ends_of));
    MUST(ends_of[0] == fd || ends_of[1] == fd);
    put(ends_of[1]);
}
static void closed(void) {
    FILE *stream;
    int fd = file("a");
    MUST((stream = fdopen(fd, "w")) && fputs("text", stream) > 0 && !fclose(stream));
    reused(fd);
    MUST((stream = fdopen(fd = file("d"), "w")) && freopen("/dev/null", "w", stream) && fileno(stream) == fd);
    put(fd);
    put(fd = file("b"));
    MUST(!close_range((unsigned)fd, (unsigned)fd, 0));
    reused(fd);
    put(fd = file("c"));
    closefrom(fd);
    reused(fd);
    DIR *folder;
    MUST((fd = open(".", O_RDONLY | O_DIRECTORY)) >= 0 && (folder = fdopendir(fd)) && !closedir(folder));
    reused(fd);
}

/* Programs that ask whether there is such a call take the recorder's. */
static void newer(void) {
    struct statx found;
    MUST(statx(AT_FDCWD, ".", 0, STATX_SIZE, &found) < 0 && errno == ENOSYS);
    MUST(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0) < 0 && errno == ENOSYS);
    closed();
}

static void quickly(void) {
    put(file("data"));
    quick_exit(4);
}

/* No file may become so large, nor the trace. */
static void small(void) {
    put(file("data"));
    MUST(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100}));
}
static void all_open(void) {
    struct rlimit few;
    MUST(!getrlimit(RLIMIT_NOFILE, &few));
    few.rlim_cur = 20;
    MUST(!setrlimit(RLIMIT_NOFILE, &few));
    put(file("data"));
    while (dup(0) >= 0) continue;
    MUST(errno == EMFILE);
}

/* Its data has the number of stderr. */
static void without_stderr(void) {
    close(2);
    MUST(file("data") == 2);
    put(2);
    MUST(!rename("../traces", "../moved"));
}
static void dup_as_stderr(void) {
    int fd = file("data");
    close(2);
    MUST(dup(fd) == 2);
    put(2);
    MUST(!rename("../traces", "../moved"));
}

static void unnamed(void) {
    int a = open(".", O_TMPFILE | O_RDWR, 0600), b = open(".", O_TMPFILE | O_RDWR, 0600);
    if (a < 0) exit(7); /* the file system has none */
    put(a);
    put(b);
    put(b);
}

static void piped(void) {
    MUST(!mkfifo("pipe", 0666));
    int fd = open("pipe", O_RDWR);
    char seen[10];
    put(fd);
    MUST(read(fd, seen, 10) == 10);
    put(file("data"));
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"profiled",       profiled      },
    {"ended",          ended         },
    {"forked",         forked        },
    {"vforked",        vforked       },
    {"closed",         closed        },
    {"newer",          newer         },
    {"quickly",        quickly       },
    {"small",          small         },
    {"all_open",       all_open      },
    {"without_stderr", without_stderr},
    {"dup_as_stderr",  dup_as_stderr },
    {"unnamed",        unnamed       },
    {"piped",          piped         },
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name)) {
            kinds[i].run();
            return 0;
        }
    return 8;
}
