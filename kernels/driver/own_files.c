/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/own_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void io_own_name(const io_case *what, uint64_t step, uint64_t owner, uint64_t number, char *name,
                 size_t size) {
    if (what->pattern->own_name) {
        what->pattern->own_name(what->state, step, owner, number, name, size);
        return;
    }
    what->pattern->file_name(what->state, step, what->method->extension, name, size);
    size_t used = strlen(name);
    snprintf(name + used, size - used, ".%08" PRIu64, owner);
}

/* "dir/directory"; false if the pattern's names have no directory. */
static bool directory_of(const io_case *c, uint64_t step, uint64_t owner, char path[IO_MAX_PATH]) {
    char name[IO_MAX_PATH / 2];
    if (!c->pattern->own_name) return false;
    io_own_name(c, step, owner, 0, name, sizeof name);
    char *slash = strrchr(name, '/');
    if (!slash) return false;
    return snprintf(path, IO_MAX_PATH, "%s/%.*s", io_dir(c, true), (int)(slash - name), name) < IO_MAX_PATH;
}

/* Does this process create and remove its directory? Process 0 owns a shared one. */
static bool is_mine(const io_session *s, uint64_t step, const char *path) {
    char first[IO_MAX_PATH];
    return s->world->rank == 0 || !directory_of(s->what, step, 0, first) || strcmp(first, path) != 0;
}

int io_make_directory(io_session *s, uint64_t step) {
    char path[IO_MAX_PATH];
    if (!directory_of(s->what, step, (uint64_t)s->world->rank, path)) return 0;
    int failed = is_mine(s, step, path) && mkdir(path, 0777) ? errno : 0;
    if (failed == EEXIST) {
        s->directory_was_there = true;
        failed = 0;
    }
    int first = failed, code = MPI_Bcast(&first, 1, MPI_INT, 0, s->world->comm);
    if (code) return io_fail_mpi(&s->world->error, "MPI_Bcast", path, code);
    if (!failed) failed = first;
    return failed ? io_fail_errno(&s->world->error, "mkdir", path, failed) : 0;
}

void io_remove_directory(const io_session *s, uint64_t step) {
    char path[IO_MAX_PATH];
    if (s->directory_was_there) return;
    if (directory_of(s->what, step, (uint64_t)s->world->rank, path) && is_mine(s, step, path)) rmdir(path);
}

bool io_text_path(const io_session *s, uint64_t step, int index, char path[IO_MAX_PATH]) {
    const io_case *c = s->what;
    char name[IO_MAX_PATH / 2];
    if (!c->pattern->text_file || !c->pattern->text_file(c->state, step, index, name, sizeof name, NULL))
        return false;
    return snprintf(path, IO_MAX_PATH, "%s/%s", io_dir(c, true), name) < IO_MAX_PATH;
}

/* The contents of a text file; the caller frees it. */
static char *text_of(const io_session *s, uint64_t step, int index, size_t *length) {
    char name[IO_MAX_PATH / 2], *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    s->what->pattern->text_file(s->what->state, step, index, name, sizeof name, out);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

static int write_text(const char *path, const char *text, size_t length, io_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) return io_fail_errno(error, "open", path, errno);
    size_t written = fwrite(text, 1, length, file);
    int code = written < length ? errno : 0;
    if (fclose(file) && !code) code = errno;
    return code ? io_fail_errno(error, "write", path, code) : 0;
}

static int check_text(const char *path, const char *text, size_t length, io_error *error) {
    FILE *file = fopen(path, "r");
    if (!file) return io_fail_errno(error, "open", path, errno);
    size_t at = 0;
    int c;
    while ((c = fgetc(file)) != EOF && at < length && c == (unsigned char)text[at]) at++;
    bool valid = c == EOF && at == length && !ferror(file);
    fclose(file);
    if (valid) return 0;
    return io_fail(error,
                   "byte %zu of %s differs from what was written; the file was written with other options, "
                   "or has changed since",
                   at, path);
}

typedef int handle_text(const char *path, const char *text, size_t length, io_error *error);

static int each_text(const io_session *s, uint64_t step, handle_text *handle) {
    char path[IO_MAX_PATH];
    for (int i = 0; s->world->rank == 0 && io_text_path(s, step, i, path); i++) {
        size_t length;
        char *text = text_of(s, step, i, &length);
        int status = text ? handle(path, text, length, &s->world->error)
                          : io_fail(&s->world->error, "out of memory for the text of %s", path);
        free(text);
        if (status) return -1;
    }
    return 0;
}

int io_write_texts(const io_session *s, uint64_t step) { return each_text(s, step, write_text); }
int io_check_texts(const io_session *s, uint64_t step) { return each_text(s, step, check_text); }
