/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses of a replay that end in another call: nonblocking ones in a wait, split ones in their end. Each
 * has its data until then. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/pulse.h"
#include "driver/replay_parts.h"

static bool is_split(const io_act *act) {
    return act->kind == IO_ACT_READ_SPLIT || act->kind == IO_ACT_WRITE_SPLIT;
}

static int unlike(io_replaying *r, const char *what) {
    return io_fail(r->ctx.error, "--schedule: %s; expected a file written by iogauge replay plan: %s", what,
                   r->plan->path);
}

/* The call's data is in the buffer from now on. */
int io_replay_later_make(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    if (l->made == l->later_room) {
        uint64_t room = 2 * l->later_room + 16;
        io_later *more = realloc(l->later, room * sizeof *more);
        if (!more) return io_fail(r->ctx.error, "out of memory for calls in progress");
        l->later = more;
        l->later_room = room;
    }
    char *data = malloc(act->length ? act->length : 1);
    if (!data)
        return io_fail(r->ctx.error, "out of memory for a call of %" PRIu64 " bytes in progress",
                       act->length);
    l->later[l->made++] = (io_later){act, offset, r->buffer = data, MPI_REQUEST_NULL};
    return 0;
}

int io_replay_later_begin(io_replaying *r, io_logged *l, MPI_File f) {
    io_later *one = &l->later[l->begun++];
    const io_act *act = one->act;
    MPI_Offset at = (MPI_Offset)one->offset;
    int n = (int)act->length, code;
    const char *name;
    MPI_Offset pointer;
    io_now_at(r->session->world, io_act_is[act->kind].writes ? IO_AT_WRITE : IO_AT_READ);
    double began = io_monotonic_seconds();
    bool shared = act->kind == IO_ACT_READ_SHARED_LATER || act->kind == IO_ACT_WRITE_SHARED_LATER;
    if (shared && (code = MPI_File_get_position_shared(f, &pointer)))
        return io_fail_mpi(r->ctx.error, "MPI_File_get_position_shared", r->file.path, code);
#define BEGIN(KIND, NAME, REST)                                                                              \
    case KIND:                                                                                               \
        name = #NAME;                                                                                        \
        code = NAME(f, at, one->data, n, MPI_BYTE REST);                                                     \
        break;
#define REQUEST , &one->request
    switch (act->kind) {
        BEGIN(IO_ACT_READ_LATER, MPI_File_iread_at, REQUEST)
        BEGIN(IO_ACT_WRITE_LATER, MPI_File_iwrite_at, REQUEST)
        BEGIN(IO_ACT_READ_SHARED_LATER, MPI_File_iread_at, REQUEST)
        BEGIN(IO_ACT_WRITE_SHARED_LATER, MPI_File_iwrite_at, REQUEST)
        BEGIN(IO_ACT_READ_ALL_LATER, MPI_File_iread_at_all, REQUEST)
        BEGIN(IO_ACT_WRITE_ALL_LATER, MPI_File_iwrite_at_all, REQUEST)
        BEGIN(IO_ACT_READ_SPLIT, MPI_File_read_at_all_begin, )
    default:
        name = "MPI_File_write_at_all_begin";
        code = MPI_File_write_at_all_begin(f, at, one->data, n, MPI_BYTE);
    }
    io_replay_add_move(r, io_act_is[act->kind].writes, began);
    l->running += !code;
    return code ? io_fail_mpi(r->ctx.error, name, r->file.path, code) : 0;
}

static int has_moved(io_replaying *r, const io_later *one, MPI_Status *status) {
    int moved = 0;
    IO_MPI(r->session->world, MPI_Get_count, status, MPI_BYTE, &moved);
    if ((uint64_t)moved == one->act->length) return 0;
    return io_fail(r->ctx.error, "a call in progress moved %d of %" PRIu64 " bytes at byte %" PRIu64 ": %s",
                   moved, one->act->length, one->offset, r->file.path);
}

/* Verifies what was read, and forgets the access; the list when none is left. */
static int end(io_replaying *r, io_logged *l, io_later *one) {
    r->buffer = one->data;
    int status = io_replay_verify(r, one->act, one->offset, true);
    one->data = NULL;
    l->running--;
    if (l->running || l->begun != l->made) return status;
    l->ended += l->made;
    l->made = l->begun = 0;
    return status;
}

/* Only for these: MPI_Waitsome over others too makes ROMIO's collective calls advance in turns, which mixes
 * up their bytes (MPICH 4.0.2). */
static int wait_for(io_replaying *r, MPI_File f, io_later *some, int n, MPI_Request *requests,
                    MPI_Status *status) {
    bool split = is_split(some->act), writes = io_act_is[some->act->kind].writes;
    for (int i = 0; i < n; i++) requests[i] = some[i].request;
    io_now_at(r->session->world, writes ? IO_AT_WRITE : IO_AT_READ);
    double began = io_monotonic_seconds();
    const char *name = !split   ? "MPI_Waitall"
                       : writes ? "MPI_File_write_at_all_end"
                                : "MPI_File_read_at_all_end";
    int code = !split   ? MPI_Waitall(n, requests, status)
               : writes ? MPI_File_write_at_all_end(f, some->data, status)
                        : MPI_File_read_at_all_end(f, some->data, status);
    io_replay_add_time(r, writes ? IO_PHASE_WRITE : IO_PHASE_READ, began);
    for (int i = 0; i < n; i++) some[i].request = MPI_REQUEST_NULL;
    for (int i = 0, of; code == MPI_ERR_IN_STATUS && i < n; i++)
        if ((of = status[i].MPI_ERROR) != MPI_SUCCESS && of != MPI_ERR_PENDING) code = of;
    return code ? io_fail_mpi(r->ctx.error, name, r->file.path, code) : 0;
}

int io_replay_wait(io_replaying *r, io_logged *l, const io_act *act) {
    const io_opened *o = io_replay_find(l, act->file);
    uint64_t first = act->offset - l->ended, n = act->count;
    bool known = o && o->fd < 0 && n && first < l->begun && n <= l->begun - first && n < INT32_MAX;
    for (uint64_t i = 0; known && i < n; i++) {
        const io_later *one = &l->later[first + i];
        known = one->data && one->act->file == act->file && (n == 1 || !is_split(one->act));
    }
    if (!known) return unlike(r, "a wait for a call that is not in progress");
    if (io_replay_path(r, act->file)) return -1;
    io_later *some = &l->later[first];
    MPI_Request *requests = malloc(n * sizeof *requests);
    MPI_Status *status = calloc(n, sizeof *status);
    int failed = !requests || !status ? io_fail(r->ctx.error, "out of memory for calls in progress")
                                      : wait_for(r, o->handle, some, (int)n, requests, status);
    for (uint64_t i = 0; i < n && !failed; i++) failed = has_moved(r, &some[i], &status[i]);
    for (uint64_t i = 0; i < n && !failed; i++) failed = end(r, l, &some[i]);
    free(requests);
    free(status);
    return failed;
}

int io_replay_none_left(io_replaying *r, const io_logged *l, const io_act *closing) {
    for (uint64_t i = 0; i < l->begun; i++)
        if (l->later[i].data && (!closing || l->later[i].act->file == closing->file))
            return unlike(r, "calls that nothing waits for");
    return 0;
}

/* The library may still use the data of calls in progress. */
void io_replay_later_forget(io_logged *l) {
    for (uint64_t i = l->begun; i < l->made; i++) free(l->later[i].data);
    free(l->later);
}
