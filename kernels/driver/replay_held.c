/* SPDX-License-Identifier: BSD-3-Clause */
/* When data is verified: what was read from storage not at once, as the kernel reads ahead meanwhile. */
#include <stdlib.h>

#include "driver/move.h"
#include "driver/replay_parts.h"

bool io_replay_has_enough(const io_replaying *r) {
    return r->nheld >= IO_MOST_HELD || (r->nheld && r->held_bytes >= r->hold);
}

int io_replay_check_held(io_replaying *r) {
    char *buffer = r->buffer;
    int status = 0;
    for (uint64_t i = 0; i < r->nheld; i++) {
        const io_held *one = &r->held[i];
        r->buffer = one->data;
        if (!status) status = io_replay_path(r, one->act->file);
        if (!status) io_replay_check(r, one->act, one->offset);
        if (one->alone) free(one->data);
    }
    r->nheld = r->held_bytes = r->held_memory = 0;
    r->buffer = buffer;
    return status;
}

/* One `alone` ends within a batch, whose calls have their data behind what was held when it was made: the
 * next batch verifies. */
static int hold(io_replaying *r, const io_act *act, uint64_t offset, bool alone) {
    if (r->nheld == r->held_room) {
        uint64_t room = 2 * r->held_room + 64;
        io_held *more = realloc(r->held, room * sizeof *more);
        if (!more) return io_fail(r->ctx.error, "out of memory for %llu reads", (unsigned long long)room);
        r->held = more;
        r->held_room = room;
    }
    r->held[r->nheld++] = (io_held){act, offset, r->buffer, alone};
    r->held_bytes += act->length;
    if (!alone) r->held_memory = (uint64_t)(r->buffer - r->memory) + act->length;
    return alone || !io_replay_has_enough(r) ? 0 : io_replay_check_held(r);
}

int io_replay_verify(io_replaying *r, const io_act *act, uint64_t offset, bool alone) {
    if (r->hold && io_act_is[act->kind].reads) return hold(r, act, offset, alone);
    io_replay_check(r, act, offset);
    if (alone) free(r->buffer);
    return 0;
}
