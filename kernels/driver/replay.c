/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/replay.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/evidence.h"
#include "driver/pulse.h"
#include "driver/replay_parts.h"
#include "driver/run_files.h"
#include "driver/times.h"

/* A file is a single array of bytes. */
static int dataset_offset(io_file *file, int dataset, uint64_t *offset) {
    (void)file;
    (void)dataset;
    *offset = 0;
    return 0;
}

const io_method io_method_as_logged = {
    .name = "as-logged",
    .summary = "the calls that a log has",
    .extension = "",
    .traits = IO_TAKES_HINTS,
    .dataset_offset = dataset_offset,
};

#define NANO 1e-9
/* Amount of data generated before a batch of calls: larger than any cache. */
#define BATCH ((uint64_t)64 << 20)
#define MAX_SLEEP 1.0 /* seconds: a sleeping process must show progress */

/* Sleeps until the time when the recorded program continued. */
static void sleep_until(const io_replaying *r, double end) {
    for (double left; (left = end - io_monotonic_seconds()) > 0;) {
        io_now_at(r->session->world, IO_AT_COMPUTE);
        double some = left < MAX_SLEEP ? left : MAX_SLEEP;
        struct timespec t = {(time_t)some, (long)((some - (double)(time_t)some) / NANO)};
        nanosleep(&t, NULL);
    }
}

/* What to do with an access; its data is in the buffer. */
typedef int visitor(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset);

static bool writes(const io_act *act) { return io_act_is[act->kind].writes; }

static bool moves(const io_act *act) { return writes(act) || io_act_is[act->kind].reads; }

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

static int make(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    if (io_act_is[act->kind].later && io_replay_later_make(r, l, act, offset)) return -1;
    double began = io_monotonic_seconds();
    if (writes(act))
        io_replay_each_piece(r, act, offset, fill);
    else
        prepare_read(r, act);
    r->seconds.fill += writes(act) ? io_monotonic_seconds() - began : 0;
    return 0;
}

static int check(io_replaying *r, io_logged *l, const io_act *act, uint64_t offset) {
    (void)l;
    if (!io_act_is[act->kind].later) io_replay_check(r, act, offset);
    return 0;
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

static bool in_phase(const io_logged *l, const io_replay_place *at) {
    return at->act < l->n && l->acts[at->act].kind != IO_ACT_PHASE;
}

/* Does it wait for the other processes that have the file open? */
static bool is_collective(const io_replaying *r, const io_act *act) {
    return r->plan->files[act->file].level == IO_LEVEL_MPI_COLLECTIVE &&
           (!moves(act) || io_act_is[act->kind].collective);
}

/* The calls of a phase, starting at `at`, whose data fits in memory together. If `acting`, also opens, closes
 * and flushes files. Advances the position. */
static int run_batch(io_replaying *r, io_logged *l, io_replay_place *at, bool acting, visitor *each) {
    int status = 0;
    uint64_t used = 0;
    bool ended = false;
    for (; !status && !ended && in_phase(l, at); at->act++, at->call = 0) {
        const io_act *act = &l->acts[at->act];
        if (r->pace == IO_PACE_APART && is_collective(r, act)) return 0;
        ended = r->pace == IO_PACE_ONE;
        if (!moves(act)) {
            status = acting ? open_or_close(r, l, act) : 0;
            continue;
        }
        for (; !status && at->call < act->count; at->call++) {
            if (used && (act->length > r->batch || used > r->batch - act->length)) return 0;
            if (io_replay_path(r, act->file)) return -1;
            r->buffer = r->memory + used;
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

/* Runs a phase of one process in batches; `made`: the first batch's data has been generated. */
static int run_phase(io_replaying *r, io_logged *l, bool made) {
    int status = 0;
    while (!status && in_phase(l, &l->at)) {
        io_replay_place making = l->at, checking = l->at;
        if (!made) status = run_batch(r, l, &making, false, make);
        if (!status) status = run_batch(r, l, &l->at, true, io_replay_move);
        if (!status) status = run_batch(r, l, &checking, false, check);
        made = false;
    }
    return status;
}

/* Generates the data of the first batch of a phase, before the processes synchronize. */
static int generate_ahead(io_replaying *r) {
    io_replay_place from = r->logged[0].at;
    return run_batch(r, &r->logged[0], &from, false, make);
}

/* Does any process have independent calls to a shared file in this phase, and more than one batch? Others
 * generate their data off the clock between these, so all have to be in step. Not with calls that end later,
 * in no known order. */
static bool must_be_in_step(const io_replaying *r) {
    const io_logged *l = r->logged;
    int mine[] = {0, 0}, all[2]; /* must; cannot */
    uint64_t bytes = 0;
    bool apart = false, room = false;
    mine[1] = r->nlogged != 1;
    for (io_replay_place at = l->at; in_phase(l, &at); at.act++) {
        const io_act *act = &l->acts[at.act];
        bool collective = r->plan->files[act->file].level == IO_LEVEL_MPI_COLLECTIVE;
        apart |= moves(act) && !is_collective(r, act) && r->users[act->file] > 1;
        room |= moves(act) && bytes && (act->length > r->batch || bytes > r->batch - act->length);
        room |= moves(act) && act->count > 1 && act->length > r->batch / act->count;
        bytes += moves(act) ? act->length * act->count : 0;
        mine[1] |= io_act_is[act->kind].later || act->kind == IO_ACT_WAIT;
        mine[1] |= collective && r->users[act->file] != r->session->world->size;
    }
    mine[0] = apart && room;
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, r->session->world->comm);
    return all[0] && !all[1];
}

/* A batch with calls to files of several processes lasts until the last process of a node has ended its own,
 * as in move.c. `waited`: seconds beyond this process's calls, in the direction in which it moved the most.
 */
static void advance(io_replaying *r, double waited, const double moved[]) {
    int d = moved[IO_WRITING] >= moved[IO_READING] ? IO_WRITING : IO_READING;
    r->spent[r->phase][d] += waited;
    r->waited[d] += waited;
    r->seconds.phase[d == IO_WRITING ? IO_PHASE_WRITE : IO_PHASE_READ] += waited;
}

static bool has_shared(const io_replaying *r, const io_logged *l, uint64_t from) {
    for (uint64_t i = from; i <= l->at.act && i < l->n; i++)
        if (l->acts[i].kind != IO_ACT_PHASE && moves(&l->acts[i]) && r->users[l->acts[i].file] > 1)
            return true;
    return false;
}

/* A batch, or one collective call. Returns the seconds from its begin on the node to its end there: 0 for
 * calls of files of one process, and collective ones. `moved`: in this process's calls, by direction. */
static double run_step(io_replaying *r, io_logged *l, bool acts, int *status, double *own, double moved[]) {
    io_replay_place checking = l->at;
    double *phase = r->seconds.phase, times[] = {-DBL_MAX, -DBL_MAX}, node[2];
    double before[] = {[IO_WRITING] = phase[IO_PHASE_WRITE], [IO_READING] = phase[IO_PHASE_READ]};
    double began = io_monotonic_seconds();
    if (acts) *status = run_batch(r, l, &l->at, true, io_replay_move);
    double ended = io_monotonic_seconds();
    if (acts && !*status) *status = run_batch(r, l, &checking, false, check);
    moved[IO_WRITING] = phase[IO_PHASE_WRITE] - before[IO_WRITING];
    moved[IO_READING] = phase[IO_PHASE_READ] - before[IO_READING];
    bool shared = acts && r->pace == IO_PACE_APART && has_shared(r, l, checking.act);
    if (shared) times[0] = -began, times[1] = ended;
    io_reduce_max(r->session->world, r->session->world->node, times, node, 2);
    *own = shared ? ended - began : -1;
    return node[1] > -DBL_MAX ? node[0] + node[1] : 0;
}

/* Runs a phase in steps that all processes begin together: a batch of independent calls of each, or, where no
 * process has any before its next collective call, that call. */
static int run_in_step(io_replaying *r, io_logged *l, bool made) {
    int status = 0;
    enum { FAILED, APART, MORE, SECONDS, VALUES };
    double mine[VALUES] = {0}, all[VALUES], own = -1, moved[IO_DIRECTIONS] = {0};
    io_world *world = r->session->world;
    do {
        bool more = in_phase(l, &l->at), collective = more && is_collective(r, &l->acts[l->at.act]);
        io_replay_place making = l->at;
        r->pace = collective ? IO_PACE_ONE : IO_PACE_APART;
        if (!made && !status) status = run_batch(r, l, &making, false, make);
        mine[FAILED] = status != 0;
        mine[APART] = more && !collective;
        mine[MORE] = more;
        io_reduce_max(world, world->comm, mine, all, VALUES);
        if (own >= 0) advance(r, all[SECONDS] - own, moved);
        made = collective && all[APART] > 0;
        bool acts = !(all[FAILED] > 0) && more && !made;
        mine[SECONDS] = all[FAILED] > 0 ? 0 : run_step(r, l, acts, &status, &own, moved);
    } while (!(all[FAILED] > 0) && all[MORE] > 0);
    r->pace = IO_PACE_FREE;
    return all[FAILED] > 0 ? -1 : 0;
}

static int act_all(io_replaying *r) {
    bool more = true;
    uint64_t pause = 0;
    while (more) {
        double resume = io_monotonic_seconds() + (double)pause * NANO * r->think;
        bool in_step = must_be_in_step(r);
        int status = generate_ahead(r);
        io_now_at(r->session->world, IO_AT_OTHERS);
        if (io_agree(r->session->world)) return -1;
        sleep_until(r, resume);
        more = false;
        for (uint64_t i = 0; i < r->nlogged && !status; i++) {
            io_logged *l = &r->logged[i];
            status = in_step ? run_in_step(r, l, true) : run_phase(r, l, i == 0);
            more = !status && l->at.act < l->n;
            if (more)
                pause = l->acts[l->at.act++].length;
            else if (!status)
                status = io_replay_none_left(r, l, NULL);
        }
        r->phase += more;
        io_now_at(r->session->world, IO_AT_OTHERS);
        if (io_agree(r->session->world)) return -1;
    }
    return 0;
}

/* All processes must have the same number of phases, or they would wait for each other forever. */
static int check_phases(io_replaying *r) {
    uint64_t most[2] = {0, 0}, ends[2];
    for (uint64_t i = 0; i < r->nlogged; i++) {
        uint64_t phases = 0;
        for (uint64_t k = 0; k < r->logged[i].n; k++) phases += r->logged[i].acts[k].kind == IO_ACT_PHASE;
        if (phases > most[0]) most[0] = phases;
        if (UINT64_MAX - phases > most[1]) most[1] = UINT64_MAX - phases;
    }
    MPI_Allreduce(most, ends, 2, MPI_UINT64_T, MPI_MAX, r->session->world->comm);
    if (ends[0] != UINT64_MAX - ends[1])
        io_fail(r->ctx.error, "--schedule: processes differ in their number of phases: %s", r->plan->path);
    r->nphases = ends[0] + 1;
    r->spent = calloc(r->nphases, sizeof *r->spent);
    if (!r->spent || r->nphases > INT_MAX / IO_DIRECTIONS)
        io_fail(r->ctx.error, "out of memory for %llu phases", (unsigned long long)r->nphases);
    return io_agree(r->session->world);
}

static int start(io_replaying *r, io_session *s) {
    const io_case *c = s->what;
    *r = (io_replaying){.session = s, .room = IO_REPLAY_PIECE};
    r->plan = c->pattern->schedule(c->state, &r->think);
    r->ctx = io_context(c, s->world, MPI_INFO_NULL);
    c->pattern->schema(c->state, 0, &r->schema);
    r->file = (io_file){.method = c->method, .ctx = &r->ctx, .schema = &r->schema};
    io_split(r->plan->processes, (uint64_t)s->world->size, (uint64_t)s->world->rank, &r->first, &r->nlogged);
    r->logged = calloc(r->nlogged, sizeof *r->logged);
    r->prepared = io_schedule_extents(r->plan, false, r->ctx.error);
    r->undefined = io_schedule_extents(r->plan, true, r->ctx.error);
    for (uint64_t i = 0; r->logged && i < r->nlogged; i++) {
        io_logged *l = &r->logged[i];
        l->acts = io_schedule_acts(r->plan, r->first + i, r->ctx.error);
        l->n = l->acts ? r->plan->shares[r->first + i].acts : 0;
        for (uint64_t k = 0; k < l->n; k++)
            if (l->acts[k].kind != IO_ACT_PHASE && l->acts[k].length > r->room) r->room = l->acts[k].length;
    }
    r->batch = c->reuse ? 0 : BATCH;
    uint64_t memory = r->room > r->batch ? r->room : r->batch;
    r->buffer = r->memory = malloc(memory);
    r->expected = malloc(r->room);
    if (!r->logged || !r->memory || !r->expected)
        io_fail(r->ctx.error, "out of memory for accesses of %llu bytes", (unsigned long long)memory);
    return io_agree(s->world) || check_phases(r) || io_replay_communicators(r) ? -1 : 0;
}

static void stop(io_replaying *r, bool failed) {
    for (uint64_t i = 0; r->logged && i < r->nlogged; i++) io_replay_forget(&r->logged[i]);
    for (uint64_t f = 0; !failed && r->comms && f < r->plan->nfiles; f++)
        if (r->comms[f] != MPI_COMM_NULL) MPI_Comm_free(&r->comms[f]);
    free(r->comms);
    free(r->users);
    free(r->spent);
    free(r->logged);
    free(r->prepared);
    free(r->undefined);
    free(r->memory);
    free(r->expected);
}

/* Reads and writes may be interleaved: the span of each direction covers all phases. */
static void note_times(io_replaying *r, io_sample *sample, double began, double ended) {
    const io_case *c = r->session->what;
    const uint64_t moved[IO_DIRECTIONS] = {r->plan->all.bytes_written, r->plan->all.bytes_read};
    const bool ran[IO_DIRECTIONS] = {c->write, c->read};
    MPI_Allreduce(MPI_IN_PLACE, r->calls, IO_DIRECTIONS, MPI_UINT64_T, MPI_MAX, r->session->world->comm);
    MPI_Allreduce(MPI_IN_PLACE, r->spent, (int)r->nphases * IO_DIRECTIONS, MPI_DOUBLE, MPI_MAX,
                  r->session->world->comm);
    for (int p = 0; p < IO_PHASES; p++) {
        bool has = p != IO_PHASE_DEFINE && p != IO_PHASE_READ_DEFINE && !io_of_servers(p);
        r->seconds.begin[p] = has ? began : 0;
        r->seconds.end[p] = has ? ended : 0;
    }
    for (int d = 0; d < IO_DIRECTIONS; d++) {
        if (!ran[d]) continue;
        r->seconds.waited = r->waited[d];
        io_add_times(r->session, sample, &r->seconds, d);
        r->seconds.fill = 0;
        sample->calls[d] = r->calls[d];
        for (uint64_t p = 0; p < r->nphases; p++) sample->in_calls[d] += r->spent[p][d];
        if (sample->seconds[d] > 0) sample->bandwidth[d] = (double)moved[d] / sample->seconds[d] / 1048576;
    }
}

/* Checks that every written file exists, and has the expected size. */
static int check_files(io_replaying *r) {
    io_session *s = r->session;
    for (uint64_t f = (uint64_t)s->world->rank; f < r->plan->nfiles; f += (uint64_t)s->world->size) {
        struct stat st;
        if (io_replay_path(r, f)) break;
        if (stat(r->file.path, &st)) {
            io_fail_errno(r->ctx.error, "stat", r->file.path, errno);
            break;
        }
        if (s->found && s->repeat == 0) io_record_size(s->found, r->file.path, (uint64_t)st.st_size);
    }
    return io_agree(s->world);
}

static int play(io_replaying *r, io_sample *sample) {
    io_session *s = r->session;
    const io_schedule *plan = r->plan;
    s->created = 1; /* from here on, even after a failure */
    if (io_replay_prepare(r) || io_replay_path(r, 0)) return -1;
    io_world_doing_file(s->world, "replay", s->what->method->name, r->file.path, io_may_remove(s, 0));
    io_now_in_step(s->world, s->repeat, 0);
    MPI_Barrier(s->world->comm);
    double began = io_wall_clock(s->world);
    int status = act_all(r);
    double ended = io_wall_clock(s->world);
    io_world_done(s->world);
    if (status) return -1;
    note_times(r, sample, began, ended);
    r->buffer = r->memory;
    return check_files(r) || (plan->all.writes && io_replay_read_back(r)) ? -1 : 0;
}

int io_replay(io_session *s, io_sample *sample) {
    io_replaying r;
    *sample = (io_sample){0};
    s->own_files = false;
    int status = io_remove_existing(s); /* before anything is created */
    if (status) return -1;
    status = start(&r, s);
    if (!status) status = play(&r, sample);
    stop(&r, status != 0);
    if (s->created && !s->what->common.keep && io_remove_all(s)) status = -1;
    return status;
}
