/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a phase of a log, as many as have room for their data in memory. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/replay_parts.h"

static bool writes(const io_act *act) { return io_act_is[act->kind].writes; }

bool io_replay_moves(const io_act *act) { return writes(act) || io_act_is[act->kind].reads; }

/* The MPI library of the recorded run read into newly allocated memory, where page faults dominate the
 * time. */
static void prepare_read(const io_replaying *r, const io_act *act) {
    memset(r->buffer, 0xA5, act->length); /* to detect a read that moves nothing */
#ifdef MADV_DONTNEED
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t ahead = (page - (uintptr_t)r->buffer % page) % page;
    if (r->plan->files[act->file].by_library && act->length >= ahead + page)
        madvise(r->buffer + ahead, (act->length - ahead) / page * page, MADV_DONTNEED);
#endif
}

static void fill(io_replaying *r, uint64_t file, uint64_t place, uint64_t length) {
    io_replay_fill(r, file, place, length, IO_MADE_BY_LOG, r->buffer);
}

int io_replay_make_data(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    if (io_act_is[act->kind].later && io_replay_later_make(r, l, act, offset)) return -1;
    double began = io_monotonic_seconds();
    if (writes(act))
        io_replay_each_piece(r, act, offset, fill);
    else
        prepare_read(r, act);
    r->seconds.fill += writes(act) ? io_monotonic_seconds() - began : 0;
    return 0;
}

int io_replay_check_data(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    (void)l;
    return io_act_is[act->kind].later ? 0 : io_replay_verify(r, act, offset, false);
}

static int open_or_close(io_replaying *r, io_logged *l, const io_act *act) {
    switch (act->kind) {
    case IO_ACT_OPEN: return io_replay_open(r, l, act);
    case IO_ACT_CLOSE: return io_replay_close(r, l, act);
    case IO_ACT_VIEW: return io_replay_view(r, l, act);
    case IO_ACT_WAIT: return io_replay_wait(r, l, act);
    default: return io_replay_sync(r, l, act);
    }
}

bool io_replay_in_phase(const io_logged *l, const io_replay_place *at) {
    return at->act < l->n && l->acts[at->act].kind != IO_ACT_PHASE;
}

/* Does it wait for the other processes that have the file open? */
bool io_replay_is_collective(const io_replaying *r, const io_act *act) {
    return r->plan->files[act->file].level == IO_LEVEL_MPI_COLLECTIVE &&
           (!io_replay_moves(act) || io_act_is[act->kind].collective);
}

static bool has_room(const io_replaying *r, const io_act *act, uint64_t used) {
    uint64_t most = r->hold && !writes(act) ? r->memory_bytes : r->batch;
    return act->length <= most && used <= most - act->length;
}

/* The calls of a phase, starting at `at`, whose data fits in memory together. If `acting`, also opens, closes
 * and flushes files. Advances the position. */
int io_replay_batch(io_replaying *r, io_logged *l, io_replay_place *at, bool acting,
                    io_replay_visitor *each) {
    bool makes = each == io_replay_make_data;
    int status = makes && io_replay_has_enough(r) ? io_replay_check_held(r) : 0;
    uint64_t used = 0, before = r->held_memory; /* the same until the batch is verified */
    bool ended = false;
    for (; !status && !ended && io_replay_in_phase(l, at); at->act++, at->call = 0) {
        const io_act *act = &l->acts[at->act];
        if (r->pace == IO_PACE_APART && io_replay_is_collective(r, act)) return 0;
        ended = r->pace == IO_PACE_ONE;
        if (!io_replay_moves(act)) {
            status = acting ? open_or_close(r, l, act) : 0;
            continue;
        }
        for (; !status && at->call < act->count; at->call++) {
            if (used && !has_room(r, act, before + used)) return 0;
            if (act->length > r->memory_bytes - before) { /* only before data is made */
                if (io_replay_check_held(r)) return -1;
                before = 0;
            }
            if (io_replay_path(r, act->file)) return -1;
            r->buffer = r->memory + before + used;
            status = each(r, l, act, act->offset + at->call * (uint64_t)act->stride);
            used += act->length;
            if (ended && at->call + 1 < act->count) {
                at->call++;
                return status;
            }
        }
    }
    return status;
}
