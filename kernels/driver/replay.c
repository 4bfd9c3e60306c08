/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/replay.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/evidence.h"
#include "driver/move.h"
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

/* Runs a phase of one process in batches; `made`: the first batch's data has been generated. */
static int run_phase(io_replaying *r, io_logged *l, bool made) {
    int status = 0;
    while (!status && io_replay_in_phase(l, &l->at)) {
        io_replay_place making = l->at, checking = l->at;
        if (!made) status = io_replay_batch(r, l, &making, false, io_replay_make_data);
        if (!status) status = io_replay_batch(r, l, &l->at, true, io_replay_move);
        if (!status) status = io_replay_batch(r, l, &checking, false, io_replay_check_data);
        made = false;
    }
    return status;
}

/* Generates the data of the first batch of a phase, before the processes synchronize. */
static int generate_ahead(io_replaying *r) {
    io_replay_place from = r->logged[0].at;
    return io_replay_batch(r, &r->logged[0], &from, false, io_replay_make_data);
}

static int act_all(io_replaying *r) {
    bool more = true;
    uint64_t pause = 0;
    while (more) {
        double resume = io_monotonic_seconds() + (double)pause * NANO * r->think;
        bool in_step = io_replay_must_be_in_step(r);
        int status = generate_ahead(r);
        if (io_agree(r->session->world)) return -1;
        sleep_until(r, resume);
        more = false;
        for (uint64_t i = 0; i < r->nlogged && !status; i++) {
            io_logged *l = &r->logged[i];
            status = in_step ? io_replay_in_step(r, l, true) : run_phase(r, l, i == 0);
            more = !status && l->at.act < l->n;
            if (more)
                pause = l->acts[l->at.act++].length;
            else if (!status)
                status = io_replay_none_left(r, l, NULL);
        }
        r->phase += more;
        if (!more && !status) status = io_replay_check_held(r);
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
    IO_MPI(r->session->world, MPI_Allreduce, most, ends, 2, MPI_UINT64_T, MPI_MAX, r->session->world->comm);
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
    r->hold = c->drop_caches ? IO_HELD : 0;
    r->memory_bytes = r->room > r->batch ? r->room : r->batch;
    if (r->memory_bytes < r->hold) r->memory_bytes = r->hold;
    r->buffer = r->memory = malloc(r->memory_bytes);
    r->expected = malloc(r->room);
    if (!r->logged || !r->memory || !r->expected)
        io_fail(r->ctx.error, "out of memory for accesses of %llu bytes",
                (unsigned long long)r->memory_bytes);
    return io_agree(s->world) || check_phases(r) || io_replay_communicators(r) ? -1 : 0;
}

static void stop(io_replaying *r, bool failed) {
    for (uint64_t i = 0; r->logged && i < r->nlogged; i++) io_replay_forget(&r->logged[i]);
    for (uint64_t f = 0; !failed && r->comms && f < r->plan->nfiles; f++)
        if (r->comms[f] != MPI_COMM_NULL) IO_MPI(r->session->world, MPI_Comm_free, &r->comms[f]);
    free(r->comms);
    free(r->users);
    free(r->movers);
    free(r->spent);
    free(r->logged);
    free(r->prepared);
    free(r->undefined);
    for (uint64_t i = 0; i < r->nheld; i++)
        if (r->held[i].alone) free(r->held[i].data);
    free(r->held);
    free(r->memory);
    free(r->expected);
}

/* Reads and writes may be interleaved: the span of each direction covers all phases. */
static void note_times(io_replaying *r, io_sample *sample, double began, double ended) {
    const io_case *c = r->session->what;
    const uint64_t moved[IO_DIRECTIONS] = {r->plan->all.bytes_written, r->plan->all.bytes_read};
    const bool ran[IO_DIRECTIONS] = {c->write, c->read};
    IO_MPI(r->session->world, MPI_Allreduce, MPI_IN_PLACE, r->calls, IO_DIRECTIONS, MPI_UINT64_T, MPI_MAX,
           r->session->world->comm);
    IO_MPI(r->session->world, MPI_Allreduce, MPI_IN_PLACE, r->spent, (int)r->nphases * IO_DIRECTIONS,
           MPI_DOUBLE, MPI_MAX, r->session->world->comm);
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
    IO_MPI(s->world, MPI_Barrier, s->world->comm);
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
    return status;
}
