/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a replay; only these are timed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/pulse.h"
#include "driver/replay_parts.h"

static const io_schedule_file *file_of(const io_replaying *r, uint64_t file) { return &r->plan->files[file]; }

static int not_open(io_replaying *r, const io_act *act) {
    return io_fail(
        r->ctx.error,
        "--schedule: an operation on %s, which is not open; expected a file written by iogauge replay plan"
        ": %s",
        file_of(r, act->file)->name, r->plan->path);
}

static io_opened *remember(io_replaying *r, io_logged *l, uint64_t file) {
    if (l->nopened == l->room) {
        uint64_t room = 2 * l->room + 16;
        io_opened *more = realloc(l->opened, room * sizeof *more);
        if (!more) {
            io_fail(r->ctx.error, "out of memory for open files");
            return NULL;
        }
        l->opened = more;
        l->room = room;
    }
    io_opened *o = &l->opened[l->nopened++];
    *o = (io_opened){.file = file, .fd = -1, .handle = MPI_FILE_NULL};
    return o;
}

/* What a file is opened for: IO_OPEN_READS, IO_OPEN_WRITES. */
static uint64_t uses(const io_schedule_file *f, const io_act *act) {
    if (act->length) return act->length;
    return f->written ? IO_OPEN_WRITES | (f->read ? IO_OPEN_READS : 0) : IO_OPEN_READS;
}

static int posix_flags(const io_schedule_file *f, uint64_t uses) {
    int way = !(uses & IO_OPEN_WRITES) ? O_RDONLY : uses & IO_OPEN_READS ? O_RDWR : O_WRONLY;
    return way | (f->written ? O_CREAT : 0);
}

static int mpi_flags(const io_schedule_file *f, uint64_t uses) {
    if (!(uses & IO_OPEN_WRITES)) return MPI_MODE_RDONLY;
    return (uses & IO_OPEN_READS ? MPI_MODE_RDWR : MPI_MODE_WRONLY) | (f->written ? MPI_MODE_CREATE : 0);
}

static int open_mpi(io_replaying *r, const io_act *act, io_opened *o, io_phase phase) {
    const io_schedule_file *f = file_of(r, act->file);
    MPI_Comm comm = r->comms[act->file] == MPI_COMM_NULL ? MPI_COMM_SELF : r->comms[act->file];
    char name[IO_MAX_PATH + 64];
    snprintf(name, sizeof name, "%s%s", r->ctx.prefix, r->file.path);
    double began = io_monotonic_seconds();
    int code = MPI_File_open(comm, name, mpi_flags(f, uses(f, act)),
                             r->session->info[io_phases[phase].direction], &o->handle);
    io_replay_add_time(r, phase, began);
    return code ? io_fail_mpi(r->ctx.error, "MPI_File_open", name, code) : 0;
}

int io_replay_open(io_replaying *r, io_logged *l, const io_act *act) {
    const io_schedule_file *f = file_of(r, act->file);
    bool writes = f->written && uses(f, act) & IO_OPEN_WRITES;
    io_phase phase = writes ? IO_PHASE_CREATE : IO_PHASE_OPEN;
    if (io_replay_find(l, act->file)) return not_open(r, act);
    io_opened *o = remember(r, l, act->file);
    if (!o || io_replay_path(r, act->file)) return -1;
    o->writes = writes;
    io_now_at(r->session->world, writes ? IO_AT_CREATE : IO_AT_OPEN);
    if (f->level != IO_LEVEL_POSIX) return open_mpi(r, act, o, phase);
    double began = io_monotonic_seconds();
    o->fd = open(r->file.path, posix_flags(f, uses(f, act)), 0666);
    io_replay_add_time(r, phase, began);
    return o->fd < 0 ? io_fail_errno(r->ctx.error, "open", r->file.path, errno) : 0;
}

int io_replay_close(io_replaying *r, io_logged *l, const io_act *act) {
    io_opened *found = io_replay_find(l, act->file);
    if (!found) return not_open(r, act);
    if (io_replay_none_left(r, l, act)) return -1;
    io_opened o = *found;
    *found = l->opened[--l->nopened];
    if (io_replay_path(r, act->file)) return -1;
    io_now_at(r->session->world, IO_AT_CLOSE);
    double began = io_monotonic_seconds();
    int failed = o.fd >= 0 ? close(o.fd) : 0, code = errno;
    int mpi = o.fd < 0 ? MPI_File_close(&o.handle) : 0;
    io_replay_add_time(r, o.writes ? IO_PHASE_CLOSE : IO_PHASE_READ_CLOSE, began);
    if (failed) return io_fail_errno(r->ctx.error, "close", r->file.path, code);
    return mpi ? io_fail_mpi(r->ctx.error, "MPI_File_close", r->file.path, mpi) : 0;
}

/* The data type of a view: its pieces, as far as `int` holds them in one. */
static int type_of(const io_view *v, MPI_Datatype *type) {
    MPI_Datatype pieces;
    int *lengths = malloc(v->npieces * sizeof *lengths);
    MPI_Aint *places = malloc(v->npieces * sizeof *places);
    int code = lengths && places ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (uint64_t i = 0; !code && i < v->npieces; i++) {
        if (v->pieces[i].length > INT_MAX || v->npieces > INT_MAX) code = MPI_ERR_COUNT;
        lengths[i] = (int)v->pieces[i].length;
        places[i] = (MPI_Aint)v->pieces[i].at;
    }
    if (!code) code = MPI_Type_create_hindexed((int)v->npieces, lengths, places, MPI_BYTE, &pieces);
    if (!code) {
        code = MPI_Type_create_resized(pieces, 0, (MPI_Aint)v->extent, type);
        int freed = MPI_Type_free(&pieces);
        if (!code) code = freed;
    }
    if (!code) code = MPI_Type_commit(type);
    free(lengths);
    free(places);
    return code;
}

int io_replay_view(io_replaying *r, io_logged *l, const io_act *act) {
    io_opened *o = io_replay_find(l, act->file);
    MPI_Datatype type = MPI_BYTE;
    MPI_Offset displacement = 0;
    if (!o || o->fd >= 0) return not_open(r, act);
    if (io_replay_path(r, act->file)) return -1;
    io_now_at(r->session->world, o->writes ? IO_AT_WRITE : IO_AT_READ);
    double began = io_monotonic_seconds();
    int code = act->view ? type_of(&r->plan->views[act->view], &type) : MPI_SUCCESS;
    if (act->view) displacement = (MPI_Offset)r->plan->views[act->view].displacement;
    if (!code)
        code = MPI_File_set_view(o->handle, displacement, MPI_BYTE, type, "native",
                                 r->session->info[io_phases[IO_PHASE_WRITE].direction]);
    if (act->view && !code) code = MPI_Type_free(&type);
    io_replay_add_time(r, o->writes ? IO_PHASE_WRITE : IO_PHASE_READ, began);
    return code ? io_fail_mpi(r->ctx.error, "MPI_File_set_view", r->file.path, code) : 0;
}

int io_replay_sync(io_replaying *r, io_logged *l, const io_act *act) {
    io_opened *o = io_replay_find(l, act->file);
    if (!o) return not_open(r, act);
    if (io_replay_path(r, act->file)) return -1;
    io_now_at(r->session->world, IO_AT_SYNC);
    double began = io_monotonic_seconds();
    int failed = o->fd >= 0 ? fsync(o->fd) : 0, code = errno;
    int mpi = o->fd < 0 ? MPI_File_sync(o->handle) : 0;
    io_replay_add_time(r, IO_PHASE_FLUSH, began);
    if (failed) return io_fail_errno(r->ctx.error, "fsync", r->file.path, code);
    return mpi ? io_fail_mpi(r->ctx.error, "MPI_File_sync", r->file.path, mpi) : 0;
}

/* Makes one call as recorded; a short transfer is continued. */
static int move_posix(io_replaying *r, int fd, bool writing, uint64_t offset, uint64_t length) {
    uint64_t done = 0;
    do {
        io_now_at(r->session->world, writing ? IO_AT_WRITE : IO_AT_READ);
        double began = io_monotonic_seconds();
        ssize_t n = writing ? pwrite(fd, r->buffer + done, length - done, (off_t)(offset + done))
                            : pread(fd, r->buffer + done, length - done, (off_t)(offset + done));
        int code = errno;
        io_replay_add_move(r, writing, began);
        if (n < 0 && code == EINTR) continue;
        if (n < 0) return io_fail_errno(r->ctx.error, writing ? "pwrite" : "pread", r->file.path, code);
        if (!n && done < length)
            return io_fail(r->ctx.error,
                           "%s: the file ends at byte %" PRIu64 ", %" PRIu64 " bytes too early: %s",
                           writing ? "pwrite" : "pread", offset + done, length - done, r->file.path);
        done += (uint64_t)n;
    } while (done < length);
    return 0;
}

typedef int mpi_call(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);
static int write_at(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    return MPI_File_write_at(f, o, b, n, t, s);
}
static int write_at_all(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    return MPI_File_write_at_all(f, o, b, n, t, s);
}
/* Who comes first at a shared pointer cannot be repeated: asking for it costs what moving it does. */
static int read_shared(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    MPI_Offset pointer;
    int code = MPI_File_get_position_shared(f, &pointer);
    return code ? code : MPI_File_read_at(f, o, b, n, t, s);
}
static int write_shared(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    MPI_Offset pointer;
    int code = MPI_File_get_position_shared(f, &pointer);
    return code ? code : MPI_File_write_at(f, o, b, n, t, s);
}
/* At the shared pointer: the places follow from all calls before. */
static int read_ordered(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    (void)o;
    return MPI_File_read_ordered(f, b, n, t, s);
}
static int write_ordered(MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) {
    (void)o;
    return MPI_File_write_ordered(f, b, n, t, s);
}

static const struct {
    const char *name;
    mpi_call *call;
} mpi_calls[IO_ACTS] = {
    [IO_ACT_READ] = {"MPI_File_read_at",       MPI_File_read_at    },
    [IO_ACT_WRITE] = {"MPI_File_write_at",      write_at            },
    [IO_ACT_READ_ALL] = {"MPI_File_read_at_all",   MPI_File_read_at_all},
    [IO_ACT_WRITE_ALL] = {"MPI_File_write_at_all",  write_at_all        },
    [IO_ACT_READ_ORDERED] = {"MPI_File_read_ordered",  read_ordered        },
    [IO_ACT_READ_SHARED] = {"MPI_File_read_at",       read_shared         },
    [IO_ACT_WRITE_SHARED] = {"MPI_File_write_at",      write_shared        },
    [IO_ACT_WRITE_ORDERED] = {"MPI_File_write_ordered", write_ordered       },
};

static int move_mpi(io_replaying *r, MPI_File handle, const io_act *act, uint64_t offset) {
    MPI_Status status;
    int moved = 0;
    bool writing = io_act_is[act->kind].writes;
    io_now_at(r->session->world, writing ? IO_AT_WRITE : IO_AT_READ);
    double began = io_monotonic_seconds();
    int code =
        mpi_calls[act->kind].call(handle, (MPI_Offset)offset, r->buffer, (int)act->length, MPI_BYTE, &status);
    io_replay_add_move(r, writing, began);
    if (code) return io_fail_mpi(r->ctx.error, mpi_calls[act->kind].name, r->file.path, code);
    IO_MPI(r->session->world, MPI_Get_count, &status, MPI_BYTE, &moved);
    if ((uint64_t)moved == act->length) return 0;
    return io_fail(r->ctx.error, "%s moved %d of %" PRIu64 " bytes at byte %" PRIu64 ": %s",
                   mpi_calls[act->kind].name, moved, act->length, offset, r->file.path);
}

int io_replay_move(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    io_opened *o = io_replay_find(l, act->file);
    if (!o) return not_open(r, act);
    if (io_act_is[act->kind].later) return io_replay_later_begin(r, l, o->handle);
    if (o->fd >= 0) return move_posix(r, o->fd, io_act_is[act->kind].writes, offset, act->length);
    return move_mpi(r, o->handle, act, offset);
}

void io_replay_forget(io_logged *l) {
    for (uint64_t i = 0; i < l->nopened; i++)
        if (l->opened[i].fd >= 0) close(l->opened[i].fd);
    io_replay_later_forget(l);
    free(l->opened);
    free(l->acts);
}

/* Whether this process opens each file, and how many do. */
static int count_users(io_replaying *r, bool *mine) {
    uint64_t n = r->plan->nfiles;
    r->users = calloc(n, sizeof *r->users);
    r->movers = calloc(n, sizeof *r->movers);
    if (!mine || !r->users || !r->movers || n > INT_MAX)
        io_fail(r->ctx.error, "out of memory for the files of a schedule");
    if (io_agree(r->session->world)) return -1;
    for (uint64_t i = 0; i < r->nlogged; i++)
        for (uint64_t k = 0; k < r->logged[i].n; k++)
            if (r->logged[i].acts[k].kind == IO_ACT_OPEN) mine[r->logged[i].acts[k].file] = true;
    for (uint64_t f = 0; f < n; f++) r->users[f] = mine[f];
    IO_MPI(r->session->world, MPI_Allreduce, MPI_IN_PLACE, r->users, (int)n, MPI_INT, MPI_SUM,
           r->session->world->comm);
    return 0;
}

/* Communicators of the processes that open a file collectively. Folded processes open each file
 * independently, because some would open it twice. */
int io_replay_communicators(io_replaying *r) {
    const io_world *w = r->session->world;
    bool folded = r->plan->processes > (uint64_t)w->size, *mine = calloc(r->plan->nfiles, sizeof *mine);
    r->comms = malloc(r->plan->nfiles * sizeof(MPI_Comm));
    if (!r->comms) io_fail(r->ctx.error, "out of memory for the files of a schedule");
    for (uint64_t f = 0; r->comms && f < r->plan->nfiles; f++) r->comms[f] = MPI_COMM_NULL;
    int status = count_users(r, mine);
    for (uint64_t f = 0; f < r->plan->nfiles && !folded && !status; f++) {
        if (r->plan->files[f].level != IO_LEVEL_MPI_COLLECTIVE) continue;
        int code = MPI_Comm_split(w->comm, mine[f] ? 0 : MPI_UNDEFINED, w->rank, &r->comms[f]);
        if (code) status = io_fail_mpi(r->ctx.error, "MPI_Comm_split", r->plan->files[f].name, code);
    }
    free(mine);
    return status;
}
