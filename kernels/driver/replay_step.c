/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches that all processes begin together, and how long each lasts. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "driver/replay_parts.h"

/* How many processes move data of each file in this phase. */
static void count_movers(io_replaying *r, const io_logged *l) {
    memset(r->movers, 0, r->plan->nfiles * sizeof *r->movers);
    for (io_replay_place at = l->at; io_replay_in_phase(l, &at); at.act++)
        if (io_replay_moves(&l->acts[at.act])) r->movers[l->acts[at.act].file] = 1;
    IO_MPI(r->session->world, MPI_Allreduce, MPI_IN_PLACE, r->movers, (int)r->plan->nfiles, MPI_INT, MPI_SUM,
           r->session->world->comm);
}

/* Does any process have more than one batch of independent calls in this phase, to a shared file, or where
 * some call is collective? Others generate their data off the clock between these, so all have to be in step.
 * Not with calls that end later, in no known order. Data is made after this. */
bool io_replay_must_be_in_step(io_replaying *r) {
    const io_logged *l = r->logged;
    enum { CANNOT, SHARED, APART, COLLECTIVE, VALUES };
    int mine[VALUES] = {r->nlogged != 1}, all[VALUES];
    uint64_t bytes = 0, calls = 0;
    count_movers(r, l);
    for (io_replay_place at = l->at; io_replay_in_phase(l, &at); at.act++) {
        const io_act *act = &l->acts[at.act];
        bool independent = io_replay_moves(act) && !io_replay_is_collective(r, act);
        bool collective = r->plan->files[act->file].level == IO_LEVEL_MPI_COLLECTIVE;
        mine[SHARED] |= independent && r->movers[act->file] > 1;
        mine[APART] |= independent;
        mine[COLLECTIVE] |= io_replay_moves(act) && !independent;
        bytes += io_replay_moves(act) ? act->length * act->count : 0;
        calls += io_replay_moves(act) ? act->count : 0;
        mine[CANNOT] |= io_act_is[act->kind].later || act->kind == IO_ACT_WAIT;
        mine[CANNOT] |= collective && r->users[act->file] != r->session->world->size;
    }
    /* It is one batch if it fits in memory, whatever is held there. */
    if (bytes <= r->batch && bytes + r->held_memory > r->batch) io_replay_check_held(r);
    if (calls < 2 || bytes <= r->batch) mine[SHARED] = mine[APART] = 0;
    IO_MPI(r->session->world, MPI_Allreduce, mine, all, VALUES, MPI_INT, MPI_MAX, r->session->world->comm);
    return !all[CANNOT] && (all[SHARED] || (all[APART] && all[COLLECTIVE]));
}

/* A batch with calls to files of several processes lasts until the last process of a node has ended its own,
 * as in move.c. `waited`: seconds beyond this process's own in direction `d`. */
static void advance(io_replaying *r, double waited, int d) {
    r->spent[r->phase][d] += waited;
    r->waited[d] += waited;
    r->seconds.phase[d == IO_WRITING ? IO_PHASE_WRITE : IO_PHASE_READ] += waited;
}

/* From act `from` on; of the one at which the batch ended, only if some of its calls were made. */
static bool has_shared(const io_replaying *r, const io_logged *l, uint64_t from) {
    for (uint64_t i = from; i < l->n && i < l->at.act + (l->at.call > 0); i++)
        if (io_replay_moves(&l->acts[i]) && r->movers[l->acts[i].file] > 1) return true;
    return false;
}

/* What a process tells the others of its batch. `own`: its seconds, less calls that move nothing and
 * count in other phases; below 0: no calls to shared files. `seconds`: of the node, by direction. */
typedef struct {
    double own, seconds[IO_DIRECTIONS];
    int direction; /* in which it moved the longest */
} step_times;

/* A batch, or one collective call. The check comes when no process of the node is in a call any more. */
static step_times run_step(io_replaying *r, io_logged *l, bool acts, int *status) {
    io_replay_place checking = l->at;
    const double *phase = r->seconds.phase, *spent = r->spent[r->phase];
    double before = spent[IO_WRITING] + spent[IO_READING];
    double written = phase[IO_PHASE_WRITE], read = phase[IO_PHASE_READ];
    double began = io_monotonic_seconds();
    if (acts) *status = io_replay_batch(r, l, &l->at, true, io_replay_move);
    double ended = io_monotonic_seconds();
    written = phase[IO_PHASE_WRITE] - written;
    read = phase[IO_PHASE_READ] - read;
    ended -= spent[IO_WRITING] + spent[IO_READING] - before - written - read;
    bool shared = acts && r->pace == IO_PACE_APART && has_shared(r, l, checking.act);
    step_times found = {shared ? ended - began : -1, {0}, written >= read ? IO_WRITING : IO_READING};
    for (int d = 0; d < IO_DIRECTIONS; d++) {
        bool mine = shared && d == found.direction;
        found.seconds[d] =
            io_node_seconds(r->session->world, mine ? began : INFINITY, mine ? ended : -INFINITY);
    }
    if (acts && !*status) *status = io_replay_batch(r, l, &checking, false, io_replay_check_data);
    return found;
}

/* Runs a phase in steps that all processes begin together: a batch of independent calls of each, or, where no
 * process has any before its next collective call, that call. */
int io_replay_in_step(io_replaying *r, io_logged *l, bool made) {
    int status = 0;
    enum { FAILED, APART, MORE, SECONDS, VALUES = SECONDS + IO_DIRECTIONS };
    double mine[VALUES] = {0}, all[VALUES];
    step_times last = {.own = -1};
    io_world *world = r->session->world;
    do {
        bool more = io_replay_in_phase(l, &l->at),
             collective = more && io_replay_is_collective(r, &l->acts[l->at.act]);
        io_replay_place making = l->at;
        r->pace = collective ? IO_PACE_ONE : IO_PACE_APART;
        if (!made && !status) status = io_replay_batch(r, l, &making, false, io_replay_make_data);
        mine[FAILED] = status != 0;
        mine[APART] = more && !collective;
        mine[MORE] = more;
        memcpy(mine + SECONDS, last.seconds, sizeof last.seconds);
        io_reduce_max(world, world->comm, mine, all, VALUES);
        if (last.own >= 0) advance(r, all[SECONDS + last.direction] - last.own, last.direction);
        made = collective && all[APART] > 0;
        if (!(all[FAILED] > 0)) last = run_step(r, l, more && !made, &status);
    } while (!(all[FAILED] > 0) && all[MORE] > 0);
    r->pace = IO_PACE_FREE;
    return all[FAILED] > 0 ? -1 : 0;
}
