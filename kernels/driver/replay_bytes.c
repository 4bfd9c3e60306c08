/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of a replay: generated before it, verified during and after it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "base/filesystem.h"
#include "driver/evidence.h"
#include "driver/pulse.h"
#include "driver/replay_parts.h"
#include "driver/run_files.h"

/* Bypasses a recorder, which wraps the C library. */
static int open_aside(const char *path, int flags) {
#ifdef SYS_openat
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666);
#else
    return open(path, flags | O_CLOEXEC, 0666);
#endif
}

static ssize_t move_aside(int fd, bool writing, void *data, size_t n, uint64_t offset) {
#if defined(SYS_pread64) && defined(__LP64__)
    return syscall(writing ? SYS_pwrite64 : SYS_pread64, fd, data, n, (off_t)offset);
#else
    return writing ? pwrite(fd, data, n, (off_t)offset) : pread(fd, data, n, (off_t)offset);
#endif
}

static void close_aside(int fd) {
#ifdef SYS_close
    if (fd >= 0) syscall(SYS_close, fd);
#else
    if (fd >= 0) close(fd);
#endif
}

/* Keeps one file open; extents and accesses come in file order. */
typedef struct {
    uint64_t file;
    int fd;
} aside;

static int turn_to(io_replaying *r, aside *a, uint64_t file, int flags) {
    if (a->fd >= 0 && a->file == file) return 0;
    close_aside(a->fd);
    *a = (aside){file, -1};
    if (io_replay_path(r, file)) return -1;
    a->fd = open_aside(r->file.path, flags);
    return a->fd < 0 ? io_fail_errno(r->ctx.error, "open", r->file.path, errno) : 0;
}

static int move_all_aside(io_replaying *r, const aside *a, bool writing, uint64_t n, uint64_t offset) {
    for (uint64_t done = 0; done < n;) {
        ssize_t some = move_aside(a->fd, writing, r->buffer + done, n - done, offset + done);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return io_fail_errno(r->ctx.error, writing ? "write" : "read", r->file.path, errno);
        if (!some)
            return io_fail(r->ctx.error,
                           "read back: the file ends at byte %" PRIu64
                           ", before the end of the written data: %s",
                           offset + done, r->file.path);
        done += (uint64_t)some;
    }
    return 0;
}

int io_replay_path(io_replaying *r, uint64_t file) {
    if (r->named == file + 1) return 0;
    r->named = 0;
    if (io_file_path(r->session, 0, 0, file, r->file.path)) return -1;
    r->named = file + 1;
    return 0;
}

static io_part part_of(uint64_t file, uint64_t offset, uint64_t length, void *data) {
    return (io_part){.dataset = (int)file, .start = {offset}, .count = {length}, .data = data};
}

void io_replay_fill(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length, int maker, void *data) {
    io_part part = part_of(file, offset, length, data);
    io_now_at(r->session->world, IO_AT_VALUES);
    io_fill(&r->schema, &part, r->session->what->seed, (uint64_t)maker);
}

#define NEVER ((uint64_t)INT64_MAX) /* MPICH 4.0 compares MPI_UINT64_T as signed */

/* The first phases in which each file is opened: for reading only, by a process that had not opened it, or
 * otherwise. */
static void note_opens(const io_logged *l, bool *known, uint64_t *reading, uint64_t *making) {
    uint64_t phase = 0;
    for (uint64_t k = 0; k < l->n; k++) {
        const io_act *act = &l->acts[k];
        phase += act->kind == IO_ACT_PHASE;
        if (act->kind != IO_ACT_OPEN) continue;
        bool reads = act->length == IO_OPEN_READS;
        uint64_t *of = (reads ? reading : making) + act->file;
        if (!(reads && known[act->file]) && phase < *of) *of = phase;
        known[act->file] = true;
    }
}

/* A process may open a file for reading as soon as another has created it: the message in between is not in
 * the schedule. MPI_File_open for reading cannot create it. In a later phase it is there. */
static void create_for_readers(io_replaying *r, aside *a) {
    uint64_t n = r->plan->nfiles, *reading = malloc(n * sizeof *reading),
             *making = malloc(n * sizeof *making);
    bool *known = malloc(n);
    if (!reading || !making || !known) io_fail(r->ctx.error, "out of memory for the files of a schedule");
    int status = io_agree(r->session->world);
    if (!status) {
        for (uint64_t f = 0; f < n; f++) reading[f] = making[f] = NEVER;
        for (uint64_t i = 0; i < r->nlogged; i++) {
            memset(known, 0, n);
            note_opens(&r->logged[i], known, reading, making);
        }
        IO_MPI(r->session->world, MPI_Allreduce, MPI_IN_PLACE, making, (int)n, MPI_UINT64_T, MPI_MIN,
               r->session->world->comm);
    }
    for (uint64_t f = 0; f < n && !status; f++)
        if (reading[f] <= making[f] && making[f] != NEVER && r->plan->files[f].written &&
            r->plan->files[f].level == IO_LEVEL_MPI_INDEPENDENT)
            status = turn_to(r, a, f, O_WRONLY | O_CREAT);
    free(known);
    free(making);
    free(reading);
}

int io_replay_prepare(io_replaying *r) {
    const io_world *w = r->session->world;
    aside a = {.fd = -1};
    int status = 0;
    for (uint64_t i = (uint64_t)w->rank; !status && i < r->plan->nprepared; i += (uint64_t)w->size) {
        const io_extent *e = &r->prepared[i];
        status = turn_to(r, &a, e->file, O_WRONLY | O_CREAT);
        for (uint64_t at = e->start, n; !status && at < e->end; at += n) {
            n = e->end - at < IO_REPLAY_PIECE ? e->end - at : IO_REPLAY_PIECE;
            io_replay_fill(r, e->file, at, n, IO_MADE_BEFORE, r->buffer);
            status = move_all_aside(r, &a, true, n, at);
        }
    }
    create_for_readers(r, &a);
    close_aside(a.fd);
    if (io_agree(r->session->world)) return -1;
    for (uint64_t i = 0; w->first_on_node && r->session->what->drop_caches && i < r->plan->nfiles; i++)
        if (r->plan->files[i].read && !io_replay_path(r, i)) io_drop_file_cache(r->file.path);
    return io_agree(r->session->world);
}

/* The first undefined extent that ends after an offset. */
static uint64_t first_undefined(const io_replaying *r, uint64_t file, uint64_t offset) {
    uint64_t low = 0, high = r->plan->nundefined;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        const io_extent *e = &r->undefined[middle];
        if (e->file < file || (e->file == file && e->end <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Verifies the buffer against the expected bytes, except where the application left them undefined. */
static void verify(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length) {
    const io_session *s = r->session;
    uint64_t at = offset, end = offset + length;
    for (uint64_t i = first_undefined(r, file, offset); at < end; i++) {
        const io_extent *e = &r->undefined[i];
        bool here = i < r->plan->nundefined && e->file == file && e->start < end;
        uint64_t to = here ? e->start : end;
        if (to > at) {
            io_part part = part_of(file, at, to - at, r->buffer + (at - offset));
            io_verify_part(s->found, &part, NULL, &r->file, s->what->seed, IO_MADE_BY_LOG);
        }
        if (!here) return;
        at = e->end;
    }
}

static void check_read(io_replaying *r, uint64_t file, uint64_t offset, uint64_t length) {
    io_replay_fill(r, file, offset, length, IO_MADE_BY_LOG, r->expected);
    if (r->plan->nprepared && memcmp(r->buffer, r->expected, length) != 0) {
        /* Bytes from before the run are correct too, and then become the expected ones. */
        char *now = r->expected, *found = r->buffer;
        for (uint64_t at = 0, n; at < length; at += n) {
            char before[4096];
            n = length - at < sizeof before ? length - at : sizeof before;
            io_replay_fill(r, file, offset + at, n, IO_MADE_BEFORE, before);
            for (uint64_t i = 0; i < n; i++)
                if (found[at + i] == before[i]) found[at + i] = now[at + i];
        }
    }
    verify(r, file, offset, length);
}

void io_replay_each_piece(io_replaying *r, const io_act *act, uint64_t offset, io_replay_piece *each) {
    char *whole = r->buffer;
    for (io_slice s = {0}; io_schedule_slice(r->plan, act, offset, &s);) {
        r->buffer = whole + s.from;
        each(r, act->file, s.place, s.to - s.from);
    }
    r->buffer = whole;
}

void io_replay_check(io_replaying *r, const io_act *act, uint64_t offset) {
    if (!io_act_is[act->kind].writes) io_replay_each_piece(r, act, offset, check_read);
}

static int read_back_run(io_replaying *r, aside *a, const io_act *act) {
    if (turn_to(r, a, act->file, O_RDONLY)) return -1;
    uint64_t offset = act->offset;
    for (uint64_t k = 0; k < act->count; k++, offset += (uint64_t)act->stride)
        for (io_slice s = {0}; io_schedule_slice(r->plan, act, offset, &s);)
            for (uint64_t at = s.place, end = at + s.to - s.from, n; at < end; at += n) {
                n = end - at < IO_REPLAY_PIECE ? end - at : IO_REPLAY_PIECE;
                io_now_at(r->session->world, IO_AT_VALUES);
                if (move_all_aside(r, a, false, n, at)) return -1;
                verify(r, act->file, at, n);
            }
    return 0;
}

int io_replay_read_back(io_replaying *r) {
    const io_world *w = r->session->world;
    uint64_t first, n;
    aside a = {.fd = -1};
    int status = 0;
    io_split(r->plan->processes, (uint64_t)w->size, (uint64_t)w->shifted, &first, &n);
    for (uint64_t p = first; !status && p < first + n; p++) {
        io_act *acts = io_schedule_acts(r->plan, p, r->ctx.error);
        status = r->ctx.error->set ? -1 : 0;
        for (uint64_t i = 0; acts && !status && i < r->plan->shares[p].acts; i++)
            if (io_act_is[acts[i].kind].writes) status = read_back_run(r, &a, &acts[i]);
        free(acts);
    }
    close_aside(a.fd);
    return io_agree(r->session->world);
}
