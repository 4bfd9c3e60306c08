/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/own_files.h"
#include "driver/pulse.h"
#include "driver/run_files.h"
#include "driver/turns.h"

const char *const io_operation_names[IO_OPERATIONS] = {
    [IO_OP_CREATE] = "create", [IO_OP_READDIR] = "readdir", [IO_OP_STAT] = "stat",
    [IO_OP_OPEN] = "open",     [IO_OP_REMOVE] = "remove",
};

typedef int system_call(const char *path);

static int look_up(const char *path) {
    struct stat st;
    return stat(path, &st);
}

static int create_empty(const char *path) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    return fd < 0 ? -1 : close(fd);
}

static bool is_series(const io_session *s) { return s->what->pattern->series && !io_moves_nothing(s->what); }

/* Makes a call on every file of the owner's step. Only the calls are timed, not forming the names. */
static int each_file(io_session *s, uint64_t step, uint64_t owner, const char *name, system_call *call,
                     io_place place, double *seconds) {
    char path[IO_MAX_PATH];
    uint64_t n = io_series_length(s->what);
    for (uint64_t i = 0; i < n; i++) {
        if (io_file_path(s, step, owner, i, path)) return -1;
        io_now_at(s->world, place);
        double began = io_monotonic_seconds();
        int status = call(path);
        *seconds += io_monotonic_seconds() - began;
        if (status) return io_fail_errno(&s->world->error, name, path, errno);
    }
    return 0;
}

bool io_creates_empty(const io_session *s) {
    const io_pattern *p = s->what->pattern;
    return is_series(s) && p->creates_empty && p->creates_empty(s->what->state);
}

int io_create_series(io_session *s, uint64_t step, io_sample *sample) {
    if (!io_creates_empty(s)) return 0;
    s->created = step + 1;
    int status = io_make_directory(s, step);
    IO_MPI(s->world, MPI_Barrier, s->world->comm);
    if (io_take_turn(s)) status = -1;
    if (!status)
        each_file(s, step, (uint64_t)s->world->rank, "create", create_empty, IO_AT_CREATE,
                  &sample->operation[IO_OP_CREATE].mine);
    io_pass_turn(s);
    return io_agree(s->world);
}

/* Reads a folder to its end, as `ls` does, and counts its entries; names that begin with '.' are not. */
static int read_folder(io_session *s, const char *path, uint64_t *entries, double *seconds) {
    io_now_at(s->world, IO_AT_READDIR);
    double began = io_monotonic_seconds();
    DIR *folder = opendir(path);
    if (!folder) return io_fail_errno(&s->world->error, "opendir", path, errno);
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        io_now_at(s->world, IO_AT_READDIR);
        *entries += *entry->d_name != '.';
    }
    int failed = errno;
    closedir(folder);
    *seconds += io_monotonic_seconds() - began;
    return failed ? io_fail_errno(&s->world->error, "readdir", path, failed) : 0;
}

static int folder_of(const io_session *s, uint64_t step, uint64_t owner, char path[IO_MAX_PATH]) {
    if (io_file_path(s, step, owner, 0, path)) return -1;
    *strrchr(path, '/') = '\0';
    return 0;
}

/* A folder that all share is read by one process: P times P lists would be no use to anybody. */
int io_look_up_series(io_session *s, uint64_t step, uint64_t owner, io_sample *sample) {
    const io_world *w = s->world;
    uint64_t size = (uint64_t)w->size, files = io_series_length(s->what), entries = 0;
    char path[IO_MAX_PATH], next[IO_MAX_PATH];
    double seconds = 0;
    if (!is_series(s)) return 0;
    int status = folder_of(s, step, owner, path) || folder_of(s, step, (owner + 1) % size, next);
    bool shared = !status && !strcmp(path, next), reads = !shared || w->rank == 0;
    IO_MPI(w, MPI_Barrier, w->comm);
    if (!status && reads) read_folder(s, path, &entries, &seconds);
    if (io_agree(s->world)) return -1;
    if (shared) IO_MPI(w, MPI_Bcast, &seconds, 1, MPI_DOUBLE, 0, w->comm);
    sample->operation[IO_OP_READDIR].mine += seconds;
    each_file(s, step, owner, "stat", look_up, IO_AT_STAT, &sample->operation[IO_OP_STAT].mine);
    if (io_agree(s->world)) return -1;
    if (shared) files *= size;
    /* There may be files of others. On several nodes a client may list what it had cached (NFS). */
    if (reads && w->nodes == 1 && entries < files)
        io_fail(&s->world->error,
                "readdir: %s has %" PRIu64 " entries, but stat found %" PRIu64 " files in it", path, entries,
                files);
    return io_agree(s->world);
}

int io_remove_series(io_session *s, io_sample *sample) {
    int status = 0;
    /* Removing a folder is many calls: io_remove_all does that, untimed. */
    if (!is_series(s) || s->what->method->traits & IO_FOLDER) return 0;
    IO_MPI(s->world, MPI_Barrier, s->world->comm);
    for (uint64_t step = 0; step < s->what->steps && !status; step++)
        status = each_file(s, step, (uint64_t)s->world->rank, "unlink", unlink, IO_AT_REMOVE,
                           &sample->operation[IO_OP_REMOVE].mine);
    if (io_agree(s->world)) return -1;
    s->removed = true;
    return 0;
}

void io_record_series(const io_session *s, io_sample *sample, int direction, const double phase[IO_PHASES]) {
    if (direction == IO_WRITING && io_creates_empty(s)) return;
    for (int p = 0; p < IO_PHASES; p++)
        if (io_phases[p].direction == direction)
            sample->operation[direction == IO_WRITING ? IO_OP_CREATE : IO_OP_OPEN].mine += phase[p];
}

/* The rate of a process, and the statistics over all. */
static void reduce(const io_session *s, io_operation_time *t) {
    double files = (double)(io_series_length(s->what) * s->what->steps), size = s->world->size;
    /* The largest -x is the smallest x: one reduction for both ends. */
    double ends[2] = {-t->mine, t->mine}, most[2], sums[2] = {t->mine, t->mine > 0 ? files / t->mine : 0},
           all[2];
    IO_MPI(s->world, MPI_Allreduce, ends, most, 2, MPI_DOUBLE, MPI_MAX, s->world->comm);
    IO_MPI(s->world, MPI_Allreduce, sums, all, 2, MPI_DOUBLE, MPI_SUM, s->world->comm);
    t->seconds = (io_time){-most[0], all[0] / size, most[1]};
    if (t->seconds.min <= 0) return;
    t->rate = (io_time){files / t->seconds.max, all[1] / size, files / t->seconds.min};
    t->all = files * size / t->seconds.max;
}

void io_reduce_series(const io_session *s, io_sample *sample) {
    for (int i = 0; i < IO_OPERATIONS && s->what->pattern->series; i++) reduce(s, &sample->operation[i]);
}
