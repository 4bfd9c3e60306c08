/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_below(const char *path, const char *mount) {
    size_t n = strlen(mount);
    if (n == 1) return true;
    return !strncmp(path, mount, n) && (path[n] == '/' || !path[n]);
}

/* /proc/mounts writes a space as \040 and escapes other special characters likewise. glibc's getmntent does
 * not decode all of them: newer kernels write # as \043. */
static char *unescape(char *word) {
    char *to = word;
    for (const char *from = word; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        *to = octal ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += octal ? 4 : 1;
    }
    *to = '\0';
    return word;
}

void io_mount_of(const char *path, FILE *mounts, io_filesystem *fs) {
    enum { DEVICE, MOUNT, TYPE, OPTIONS, FIELDS };
    char *line = NULL;
    size_t room = 0, best = 0;
    while (getline(&line, &room, mounts) > 0) {
        char *rest = line, *field[FIELDS];
        int n = 0;
        while (n < FIELDS && (field[n] = strsep(&rest, " \n"))) unescape(field[n++]);
        if (n < FIELDS || !is_below(path, field[MOUNT]) || strlen(field[MOUNT]) < best) continue;
        best = strlen(field[MOUNT]); /* a later mount on the same directory hides the earlier one */
        snprintf(fs->type, sizeof fs->type, "%s", field[TYPE]);
        snprintf(fs->mount, sizeof fs->mount, "%s", field[MOUNT]);
        snprintf(fs->device, sizeof fs->device, "%s", field[DEVICE]);
        snprintf(fs->options, sizeof fs->options, "%s", field[OPTIONS]);
    }
    free(line);
}

int io_filesystem_of(const char *dir, io_filesystem *fs, io_error *error) {
    char path[IO_MAX_PATH];
    *fs = (io_filesystem){.type = "unknown"};
    if (!realpath(dir, path)) return io_fail_errno(error, "realpath", dir, errno);
    FILE *mounts = fopen("/proc/mounts", "r");
    if (!mounts) return 0; /* no /proc (Blue Gene's compute node kernel): the type stays unknown */
    io_mount_of(path, mounts, fs);
    fclose(mounts);
    return 0;
}

bool io_filesystem_is_memory(const io_filesystem *fs) {
    return !strcmp(fs->type, "tmpfs") || !strcmp(fs->type, "ramfs");
}

int io_check_dir(const char *dir, uint64_t bytes, io_error *error) {
    struct stat st;
    struct statvfs fs;
    if (stat(dir, &st)) return io_fail_errno(error, "--dir", dir, errno);
    if (!S_ISDIR(st.st_mode)) return io_fail(error, "--dir %s: not a directory; use an existing one", dir);
    if (access(dir, W_OK | X_OK)) return io_fail_errno(error, "--dir", dir, errno);
    if (!bytes || statvfs(dir, &fs) || !fs.f_blocks) return 0; /* some FUSE file systems report no blocks */
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (bytes <= room) return 0;
    return io_fail(
        error,
        "--dir %s: the run writes %.1f MiB, but only %.1f MiB are free; "
        "free space, reduce the data size, use another --dir, or --no-space-check if that number is wrong",
        dir, (double)bytes / 1048576, (double)room / 1048576);
}

void io_drop_node_caches(void) {
    sync(); /* only clean pages can be dropped */
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return; /* needs root; io_drop_file_cache works per file */
    if (write(fd, "3", 1) < 0) errno = 0;
    close(fd);
}

/* Uses system calls directly to bypass the recorder: the trace must show only the run's own calls, so that
 * its times can be compared with the phases. */
static void make_clean(int fd) {
#ifdef SYS_fdatasync
    syscall(SYS_fdatasync, fd);
#else
    fdatasync(fd);
#endif
}

void io_drop_file_cache(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    make_clean(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Maps the file in windows to bound the memory needed. */
void io_file_residency(const char *path, uint64_t *resident, uint64_t *bytes) {
    enum { WINDOW = 1 << 28 };
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct stat st;
    bool seen = false;
    *resident = *bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char *pages = malloc(WINDOW / page);
    if (fd >= 0 && pages && !fstat(fd, &st)) {
        seen = true;
        for (uint64_t at = 0; at < (uint64_t)st.st_size; at += WINDOW) {
            uint64_t n = (uint64_t)st.st_size - at < WINDOW ? (uint64_t)st.st_size - at : WINDOW;
            void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)at);
            seen = seen && map != MAP_FAILED && !mincore(map, n, pages);
            *bytes += n;
            for (uint64_t i = 0; seen && i < (n + page - 1) / page; i++)
                if (pages[i] & 1) *resident += i * page + page <= n ? page : n - i * page;
            if (map != MAP_FAILED) munmap(map, n);
        }
    }
    if (!seen) *resident = *bytes = *bytes ? *bytes : 1;
    free(pages);
    if (fd >= 0) close(fd);
}
