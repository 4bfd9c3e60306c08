/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "driver/evidence.h"
#include "driver/latency.h"
#include "driver/move.h"
#include "driver/own_files.h"
#include "driver/pulse.h"
#include "driver/replay.h"
#include "driver/run_files.h"
#include "driver/series.h"
#include "driver/servers.h"
#include "driver/times.h"
#include "driver/turns.h"
#include "patterns/registry.h"

static void begin(io_step *f, io_phase phase) {
    const io_phase_name *name = &io_phases[phase];
    io_world_doing_file(f->session->world, name->name, f->session->what->method->name, f->path,
                        !f->session->unmoved && io_may_remove(f->session, f->step));
    io_now_in_step(f->session->world, f->session->repeat, f->step);
    IO_MPI(f->session->world, MPI_Barrier, f->session->world->comm);
    f->seconds.begin[phase] = io_wall_clock(f->session->world);
    f->began = io_step_clock(f);
    f->stood = f->paused;
    f->seconds.begun[phase] = io_monotonic_seconds();
    if (!f->session->began) f->session->began = io_monotonic_seconds();
}

static int end(io_step *f, io_phase phase) {
    f->seconds.ended[phase] = io_monotonic_seconds() - (f->paused - f->stood);
    f->seconds.phase[phase] += io_step_clock(f) - f->began;
    f->seconds.end[phase] = io_wall_clock(f->session->world);
    io_world_done(f->session->world);
    return io_agree(f->session->world);
}

static int prepare(io_step *f, io_session *s, uint64_t step, uint64_t owner, int direction) {
    const io_case *c = s->what;
    *f = (io_step){
        .session = s, .owner = owner, .step = step, .direction = direction, .files = io_series_length(c)};
    f->transfers_each = c->pattern->transfers(c->state) / f->files;
    f->bytes_each = c->pattern->bytes(c->state, owner) / f->files;
    c->pattern->schema(c->state, step, &f->schema);
    f->shared = !io_own_files(c);
    if (io_file_path(s, step, owner, 0, f->path)) return -1;
    f->ctx = io_context(c, s->world, s->info[direction]);
    int most = io_most_parts(c->pattern, c->state);
    f->parts = malloc((size_t)most * sizeof *f->parts);
    if (!f->parts) return io_fail(&s->world->error, "out of memory for %d parts", most);
    return 0;
}

/* The communicator's rank is the owner whose parts this process moves. With a file per process it holds only
 * this process. */
static int set_communicator(io_step *f) {
    if (f->schema.file_per_process)
        IO_TRY_MPI(f->ctx.error, f->path, MPI_Comm_dup, MPI_COMM_SELF, &f->ctx.comm);
    else
        IO_TRY_MPI(f->ctx.error, f->path, MPI_Comm_split, f->session->world->comm, 0, (int)f->owner,
                   &f->ctx.comm);
    IO_MPI(f->session->world, MPI_Comm_set_errhandler, f->ctx.comm, MPI_ERRORS_RETURN);
    IO_MPI(f->session->world, MPI_Comm_rank, f->ctx.comm, &f->ctx.rank);
    IO_MPI(f->session->world, MPI_Comm_size, f->ctx.comm, &f->ctx.size);
    return 0;
}

static void finish(io_step *f) {
    if (f->ctx.comm != f->session->world->comm && f->ctx.comm != MPI_COMM_NULL)
        IO_MPI(f->session->world, MPI_Comm_free, &f->ctx.comm);
    free(f->parts);
    free(f->held);
}

/* The text files are written with the first file. */
static bool has_texts(const io_step *f) { return !f->number && f->session->own_files; }

static int verify(io_step *f) {
    if (io_step_verify(f)) return -1;
    return has_texts(f) ? io_check_texts(f->session, f->step) : 0;
}

static void now_at(const io_step *f, io_place at) { io_now_at(f->session->world, at); }

/* The work of each phase. Creating includes the directory and the text files, because users wait for them
 * too. */
static int create_file(io_step *f) {
    now_at(f, IO_AT_CREATE);
    if (has_texts(f) && io_write_texts(f->session, f->step)) return -1;
    return f->session->what->method->create(&f->ctx, f->path, &f->schema, &f->file);
}

static int open_file(io_step *f) {
    now_at(f, IO_AT_OPEN);
    return f->session->what->method->open(&f->ctx, f->path, &f->schema, &f->file);
}

static int define_file(io_step *f) {
    now_at(f, IO_AT_DEFINE);
    return f->session->what->method->define(f->file);
}

static int sync_file(io_step *f) {
    now_at(f, IO_AT_SYNC);
    return f->session->what->method->sync(f->file);
}

static int close_file(io_step *f) {
    io_file *file = f->file;
    f->calls += file->calls + 1;
    f->file = NULL;
    now_at(f, IO_AT_CLOSE);
    return f->session->what->method->close(file);
}

static int lap(io_step *f, io_phase which, int (*work)(io_step *)) {
    double began = io_step_clock(f);
    int status = work(f);
    f->seconds.phase[which] += io_step_clock(f) - began;
    return status;
}

/* Times one phase, in turns with --io-group. Failures are set in the world's error. All processes start
 * together, except for the files of a series after the first, which each process handles independently. */
static int phase(io_step *f, io_phase which, int (*work)(io_step *)) {
    if (f->number) return lap(f, which, work);
    begin(f, which);
    int status = 0;
    if (which == IO_PHASE_CREATE && f->session->own_files && !io_creates_empty(f->session))
        status = io_make_directory(f->session, f->step);
    if (io_take_turn(f->session)) status = -1;
    if (!status) work(f);
    io_pass_turn(f->session);
    return end(f, which);
}

/* Records the hints and offsets that the library reports, once, between two phases. */
static int record_file(io_step *f) {
    io_found *found = f->session->found;
    if (f->direction == IO_WRITING && f->session->what->method->servers) return 0; /* it may not exist yet */
    return found ? io_record_file(found, f->session->world, f->file) : 0;
}

static int write_phases(io_step *f) {
    io_session *s = f->session;
    if (s->created <= f->step) s->created = f->step + 1; /* from here on, even after a failure */
    if (phase(f, IO_PHASE_CREATE, create_file)) return -1;
    if ((s->what->method->define && phase(f, IO_PHASE_DEFINE, define_file)) || record_file(f)) return -1;
    if (phase(f, IO_PHASE_WRITE, io_step_move)) return -1;
    io_record_packed(s, f->file);
    if (s->what->common.fsync && phase(f, IO_PHASE_FLUSH, sync_file)) return -1;
    return phase(f, IO_PHASE_CLOSE, close_file);
}

static int read_phases(io_step *f) {
    io_session *s = f->session;
    const io_method *m = s->what->method;
    if (phase(f, IO_PHASE_OPEN, open_file)) return -1;
    if ((m->define && phase(f, IO_PHASE_READ_DEFINE, define_file)) || record_file(f)) return -1;
    if (phase(f, IO_PHASE_READ, io_step_move)) return -1;
    if (!s->what->write) io_record_packed(s, f->file);
    if (io_step_verifies(f)) verify(f);
    return phase(f, IO_PHASE_READ_CLOSE, close_file);
}

/* The file of this step, then the rest of its series. */
static int each_file(io_step *f, int (*one)(io_step *)) {
    const io_session *s = f->session;
    if (one(f)) return -1;
    if (f->files == 1) return 0;
    f->seconds.begin[IO_PHASES] = io_wall_clock(s->world);
    int status = io_take_turn(s);
    for (f->number = 1; !status && f->number < f->files; f->number++) {
        status = io_file_path(s, f->step, f->owner, f->number, f->path);
        if (status) break;
        io_world_doing_file(s->world, "series", s->what->method->name, f->path,
                            !s->unmoved && io_may_remove(s, f->step));
        status = one(f);
    }
    io_pass_turn(s);
    f->seconds.end[IO_PHASES] = io_wall_clock(s->world);
    io_world_done(s->world);
    return io_agree(s->world);
}

static void reduce(io_step *f, io_sample *sample, int direction) {
    uint64_t most;
    IO_MPI(f->session->world, MPI_Allreduce, &f->calls, &most, 1, MPI_UINT64_T, MPI_MAX,
           f->session->world->comm);
    sample->calls[direction] += most;
    io_add_times(f->session, sample, &f->seconds, direction);
    io_step_stretch_bytes(f, sample);
}

/* Writes or reads one file. */
static int one_step(io_session *s, uint64_t step, uint64_t owner, int direction, io_sample *sample) {
    io_step f;
    int status = prepare(&f, s, step, owner, direction);
    if (!status) status = set_communicator(&f);
    if (io_agree(s->world)) {
        finish(&f);
        return -1;
    }
    io_step_ready(&f);
    status = direction == IO_READING ? io_look_up_series(s, step, owner, sample)
                                     : io_create_series(s, step, sample);
    if (!status) status = each_file(&f, direction == IO_WRITING ? write_phases : read_phases);
    /* After a failure the file stays open: the library's state is unknown, and the job ends. */
    if (!status) {
        reduce(&f, sample, direction);
        io_record_series(s, sample, direction, f.seconds.phase);
    }
    finish(&f);
    return status;
}

static uint64_t owner_to_read(const io_session *s) {
    const io_world *w = s->world;
    io_reader reader = {(uint64_t)w->rank, (uint64_t)w->size, (uint64_t)w->shifted, s->repeat};
    if (s->what->pattern->owner_to_read) return s->what->pattern->owner_to_read(s->what->state, &reader);
    return reader.shifted;
}

static int measure(io_session *s, io_sample *sample) {
    const io_case *c = s->what;
    uint64_t rank = (uint64_t)s->world->rank;
    int status = 0;
    *sample = (io_sample){0};
    s->began = 0;
    s->own_files = io_own_files(c);
    /* Always new files: overwriting is a different measurement. */
    if (s->what->write) status = io_remove_existing(s);
    s->unmoved = s->what->write && io_has_phase(c->method, IO_PHASE_MOVE);
    for (uint64_t step = 0; s->what->write && step < c->steps && !status; step++) {
        status = one_step(s, step, rank, IO_WRITING, sample);
        if (!status) io_compute(s);
    }
    if (!status && s->what->write) status = io_drain(s, sample);
    if (!status && s->found) status = io_check_files(s);
    if (!status && s->what->read) {
        io_drop_caches(s);
        uint64_t owner = owner_to_read(s);
        for (uint64_t step = 0; step < c->steps && !status; step++)
            status = one_step(s, step, owner, IO_READING, sample);
    }
    if (!status && s->created && !c->common.keep) status = io_remove_series(s, sample);
    io_reduce_series(s, sample);
    double bytes = (double)(io_total_bytes(c, (uint64_t)s->world->size) * c->steps);
    for (int d = 0; d < IO_DIRECTIONS; d++)
        if (sample->seconds[d] > 0) sample->bandwidth[d] = bytes / sample->seconds[d] / 1048576;
    return status;
}

int io_measure(io_session *s, io_sample *sample) {
    s->created = 0;
    s->replaced = s->removed = false;
    s->world->measuring = s;
    if (s->latency) io_latency_clear(s->latency);
    int status = s->what->pattern->schedule ? io_replay(s, sample) : measure(s, sample);
    s->replaced = !status && s->repeat + 1 < s->what->common.repeats;
    if (io_may_remove(s, 0) && io_remove_all(s)) status = -1;
    s->world->measuring = NULL;
    if (!status && s->latency) status = io_latency_reduce(s, sample);
    return status;
}
