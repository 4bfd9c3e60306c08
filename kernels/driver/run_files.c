/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "driver/evidence.h"
#include "driver/own_files.h"
#include "driver/pulse.h"
#include "driver/servers.h"

int io_file_path(const io_session *s, uint64_t step, uint64_t owner, uint64_t number,
                 char path[IO_MAX_PATH]) {
    const io_case *c = s->what;
    char name[IO_MAX_PATH / 2];
    const io_schedule *schedule = io_schedule_of(c);
    if (schedule)
        snprintf(name, sizeof name, "%s", schedule->files[number].name);
    else if (s->own_files)
        io_own_name(c, step, owner, number, name, sizeof name);
    else
        c->pattern->file_name(c->state, step, c->method->extension, name, sizeof name);
    const char *dir = io_dir(c, s->own_files);
    if (snprintf(path, IO_MAX_PATH, "%s/%s", dir, name) < IO_MAX_PATH) return 0;
    return io_fail(&s->world->error, "--dir %.60s...: the path is too long", dir);
}

typedef void handle_file(io_session *session, const char *path);

/* Removes a file, or a directory with its files. */
static void handle_path(io_session *s, const char *path, handle_file *handle) {
    char inner[IO_MAX_PATH];
    int fd = s->what->method->traits & IO_FOLDER ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                                 : -1;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (*entry->d_name != '.' &&
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
            handle(s, inner);
    if (folder) closedir(folder);
    handle(s, path);
}

/* The files of a step: this process's own, at most `most` of a series, or the shared one if `shared`
 * assigns it to this process. Process 0 also has the text files. */
static void handle_step(io_session *s, uint64_t step, bool shared, uint64_t most, handle_file *handle) {
    char path[IO_MAX_PATH];
    bool own = s->own_files;
    uint64_t n = io_series_length(s->what);
    for (uint64_t i = 0; (own || shared) && i < n && i < most; i++)
        if (!io_file_path(s, step, (uint64_t)s->world->rank, i, path)) handle_path(s, path, handle);
    for (int i = 0; own && s->world->rank == 0 && io_text_path(s, step, i, path); i++) handle(s, path);
}

/* Process 0 handles shared files. */
static void each_file(io_session *s, handle_file *handle) {
    for (uint64_t step = 0; step < s->what->steps; step++)
        handle_step(s, step, s->world->rank == 0, UINT64_MAX, handle);
}

/* For the page cache of each node: one process per node handles a shared file. Only the first file of a
 * series, because a look at a file loads metadata that the series measures. */
static void each_cached_file(io_session *s, handle_file *handle) {
    for (uint64_t step = 0; step < s->what->steps; step++)
        handle_step(s, step, s->world->first_on_node, 1, handle);
}

static int remove_path(const io_session *s, const char *path) {
    io_now_at(s->world, IO_AT_REMOVE);
    if (!unlink(path)) return 0;
    return errno == EISDIR && s->what->method->traits & IO_FOLDER ? rmdir(path) : -1;
}
static void remove_file(io_session *s, const char *path) { remove_path(s, path); }
/* At the end, a file that cannot be removed is an error. */
static void remove_or_fail(io_session *s, const char *path) {
    if (remove_path(s, path) && errno != ENOENT) io_fail_errno(&s->world->error, "unlink", path, errno);
}
static void drop_file(io_session *s, const char *path) {
    io_now_at(s->world, IO_AT_FILES);
    io_drop_file_cache(path);
}
static void look_at_cache(io_session *s, const char *path) {
    uint64_t resident, bytes;
    struct stat st;
    io_now_at(s->world, IO_AT_FILES);
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) return;
    io_file_residency(path, &resident, &bytes);
    s->found->resident += resident;
    s->found->cached_bytes += bytes;
}

/* Opens the file, because a network file system may cache an older size. */
static void record_size(io_session *s, const char *path) {
    struct stat st;
    io_now_at(s->world, IO_AT_FILES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !fstat(fd, &st) && !S_ISDIR(st.st_mode)) {
        s->stored += (uint64_t)st.st_size;
        if (s->repeat == 0) io_record_size(s->found, path, (uint64_t)st.st_size);
    }
    if (fd >= 0) close(fd);
}

static void note_warm(io_session *s, const char *path) {
    uint64_t resident, bytes;
    struct stat st;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) return;
    io_file_residency(path, &resident, &bytes);
    s->warm += resident;
}

/* Do pages of the files stay in memory, or are there files that this process does not look at: a series, or
 * those that it reads of another node's processes? */
static bool stays_warm(io_session *s) {
    io_filesystem fs;
    io_error none = {0};
    s->warm = io_series_length(s->what) > 1 || (s->own_files && s->world->nodes > 1);
    each_cached_file(s, note_warm);
    IO_MPI(s->world, MPI_Allreduce, MPI_IN_PLACE, &s->warm, 1, MPI_UINT64_T, MPI_MAX, s->world->comm);
    return s->warm && !(!io_filesystem_of(s->what->common.dir, &fs, &none) && io_filesystem_is_memory(&fs));
}

void io_drop_caches(io_session *s) {
    if (s->what->drop_caches) {
        IO_MPI(s->world, MPI_Barrier, s->world->comm);
        each_cached_file(s, drop_file);
        IO_MPI(s->world, MPI_Barrier, s->world->comm);
        /* The node's cache is also others'. */
        if (stays_warm(s) && s->world->first_on_node) io_drop_node_caches();
    }
    IO_MPI(s->world, MPI_Barrier, s->world->comm);
    if (s->found) each_cached_file(s, look_at_cache);
}

/* Nothing of a series that servers have not moved, or that timed calls have removed. */
static void each_removable_file(io_session *s, bool shared, handle_file *handle) {
    uint64_t most = s->unmoved || s->removed ? 0 : UINT64_MAX;
    for (uint64_t step = 0; io_may_remove(s, step); step++) handle_step(s, step, shared, most, handle);
}

/* The others may hang in a library: the process that ends the job removes the shared file. */
static void remove_all_files(io_session *s) { each_removable_file(s, true, remove_file); }

static void remove_directories(const io_session *s) {
    for (uint64_t step = 0; io_may_remove(s, step); step++) io_remove_directory(s, step);
}

void io_remove_files(io_session *s) {
    remove_all_files(s);
    remove_directories(s);
}

void io_remove_files_of_all(const io_session *s) {
    io_world world = *s->world;
    io_session other = *s;
    other.world = &world;
    world.pulse = NULL; /* this is not progress */
    for (world.rank = 0; world.rank < world.size; world.rank++) remove_all_files(&other);
    for (world.rank = 0; world.rank < world.size; world.rank++) remove_directories(&other);
}

/* Before this repeat has created anything: a file in its way may be the user's. */
static void refuse(io_session *s, const char *path) {
    struct stat st;
    if (lstat(path, &st)) return;
    bool ours = S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && s->what->method->traits & IO_FOLDER);
    if (ours && s->what->common.overwrite) return;
    io_fail(&s->world->error, "%s exists already and is not a file of this run; %s", path,
            ours ? "use another --dir, or --overwrite" : "use another --dir");
}

int io_remove_existing(io_session *s) {
    each_file(s, refuse);
    if (io_agree(s->world)) return -1;
    if (!s->what->common.overwrite) return 0;
    each_file(s, remove_or_fail);
    return io_agree(s->world);
}

/* The directories are empty once all processes have removed their files. */
int io_remove_all(io_session *s) {
    int status = 0;
    bool agreed = s->world->error.set; /* the message of an earlier failure stays */
    io_undo_moves(s);
    each_removable_file(s, s->world->rank == 0, remove_or_fail);
    if (agreed)
        IO_MPI(s->world, MPI_Barrier, s->world->comm);
    else
        status = io_agree(s->world);
    remove_directories(s);
    s->created = 0;
    return status;
}

int io_check_files(io_session *s) {
    s->stored = 0;
    each_file(s, record_size);
    if (!s->what->write || io_moves_nothing(s->what)) return 0;
    /* Some libraries lose the error of a write to a full file system; the file size shows it. */
    uint64_t all = 0, expected = io_total_bytes(s->what, (uint64_t)s->world->size) * s->what->steps;
    if (io_mode_has(s->what->mode, IO_COMPRESSES)) expected = s->found->packed;
    IO_MPI(s->world, MPI_Allreduce, &s->stored, &all, 1, MPI_UINT64_T, MPI_SUM, s->world->comm);
    if (all < expected && s->world->rank == 0)
        io_fail(&s->world->error,
                "write: the library reported no error, but the files have %llu bytes instead of %llu: %s; "
                "check free space and quota (df), or reduce the data size",
                (unsigned long long)all, (unsigned long long)expected, s->what->common.dir);
    if (all > expected && s->world->rank == 0 && io_holds_just_data(s->what))
        io_fail(&s->world->error,
                "write: the files have %llu bytes, but their data only %llu: %s; other data was written "
                "after it, or data was written twice",
                (unsigned long long)all, (unsigned long long)expected, s->what->common.dir);
    return io_agree(s->world);
}
