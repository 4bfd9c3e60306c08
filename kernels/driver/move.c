/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers, values and transfers. A buffer either holds all data of a step, filled before the file is created
 * and verified after it was read, or it is reused: it holds a piece of a transfer, filled just before the
 * write, or some that were read and are verified together, while the clock of the step is stopped. */
#include "driver/move.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/planted.h"
#include "driver/evidence.h"
#include "driver/latency.h"
#include "driver/pulse.h"
#include "driver/values.h"
#include "patterns/registry.h"

#define POISON 0xA5 /* fills the buffer before reading, to detect reads that move nothing */
#define NEXT_REPEAT 0x9FB21C651E98DF25u /* odd: seeds of different repeats differ */
#define PIECE ((uint64_t)1 << 20) /* bytes moved through a reused buffer by a call, unless it needs more */
#define ALIGNED ((uint64_t)4096)  /* pieces in the buffer, for direct I/O */

double io_step_clock(const io_step *f) { return io_monotonic_seconds() - f->paused; }

static bool reuses(const io_step *f) { return f->session->what->reuse; }

bool io_step_verifies(const io_step *f) {
    const io_session *s = f->session;
    return s->found && s->what->verify && !io_moves_nothing(s->what);
}

/* The parts of one transfer of the current file, with pointers into the step's buffer. */
static int parts_of(io_step *f, uint64_t transfer) {
    const io_case *c = f->session->what;
    char *data = f->session->buffer + f->number * f->bytes_each;
    int n = c->pattern->parts(c->state, f->owner, f->number * f->transfers_each + transfer, f->parts);
    for (int i = 0; i < n; i++) f->parts[i].data = data + f->parts[i].offset;
    return n;
}

/* How many leading parts fit into a reused buffer, and their bytes. A transfer to a shared file is not split,
 * so that all processes make the same number of calls: even independent calls may set a view or read metadata
 * collectively. */
static int piece_of(const io_schema *schema, const io_part *parts, int n, bool shared, uint64_t *bytes) {
    int some = 0;
    for (*bytes = 0; some < n; some++) {
        uint64_t more = io_part_bytes(schema, &parts[some]);
        if (!shared && some && *bytes + more > PIECE) break;
        *bytes += more;
    }
    return some;
}

/* ---------------------------------------------------------------- values */

/* Each repeat has other values, so that the file of an earlier one is wrong. A run that only reads expects
 * the values of the last repeat. */
static uint64_t seed_of(const io_step *f) {
    const io_case *c = f->session->what;
    return c->seed + (c->write ? c->common.repeats - 1 - f->session->repeat : 0) * NEXT_REPEAT;
}

static void fill_part(const io_step *f, const io_part *part) {
    const io_case *c = f->session->what;
    io_now_at(f->session->world, IO_AT_VALUES);
    if (f->schema.datasets[part->dataset].facts)
        c->pattern->facts(c->state, f->owner, f->step, part, part->data);
    else
        io_fill(&f->schema, part, seed_of(f), f->step);
}

static void fill(io_step *f) {
    double began = io_monotonic_seconds();
    for (f->number = 0; f->number < f->files; f->number++)
        for (uint64_t k = 0; k < f->transfers_each; k++)
            for (int i = parts_of(f, k) - 1; i >= 0; i--) fill_part(f, &f->parts[i]);
    f->number = 0;
    f->seconds.fill = io_monotonic_seconds() - began;
}

void io_step_ready(io_step *f) {
    const io_case *c = f->session->what;
    if (c->reuse) return;
    if (f->direction == IO_READING)
        memset(f->session->buffer, POISON, c->pattern->bytes(c->state, f->owner));
    else if (f->session->found)
        fill(f);
}

static int verify_part(const io_step *f, const io_part *part) {
    const io_case *c = f->session->what;
    void *facts = NULL;
    io_now_at(f->session->world, IO_AT_VALUES);
    if (f->schema.datasets[part->dataset].facts) {
        uint64_t bytes = io_part_bytes(&f->schema, part);
        facts = malloc(bytes + 1);
        if (!facts)
            return io_fail(f->ctx.error, "out of memory for %" PRIu64 " bytes of %s", bytes,
                           f->schema.datasets[part->dataset].name);
        c->pattern->facts(c->state, f->owner, f->step, part, facts);
    }
    if (iogauge_plant)
        iogauge_plant(f->session->repeat, f->step, f->bytes_each * f->files,
                      f->number * f->bytes_each + part->offset, part->data, io_part_bytes(&f->schema, part));
    io_verify_part(f->session->found, part, facts, f->file, seed_of(f), f->step);
    free(facts);
    return 0;
}

static int verify_parts(const io_step *f, const io_part *parts, int n) {
    for (int i = 0; i < n; i++)
        if (verify_part(f, &parts[i])) return -1;
    return 0;
}

int io_step_verify(io_step *f) {
    for (uint64_t k = 0; !reuses(f) && k < f->transfers_each; k++) {
        int n = parts_of(f, k);
        if (verify_parts(f, f->parts, n)) return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- transfers */

static int call_method(const io_step *f, const io_part *parts, int n) {
    const io_method *m = f->session->what->method;
    io_now_at(f->session->world, f->direction == IO_WRITING ? IO_AT_WRITE : IO_AT_READ);
    int status = f->direction == IO_WRITING ? m->write(f->file, parts, n) : m->read(f->file, parts, n);
    io_latency_end(f->session->latency, f->direction);
    return status;
}

/* Processes move each piece of a shared file together. Otherwise some would hold its locks alone while others
 * generate their values off the clock. With a file per process, each goes on by itself, as programs do. */
static bool synchronised(const io_step *f) { return f->shared && f->number == 0; }

/* Verifies what was read through the reused buffer, and empties it. */
static int verify_held(io_step *f) {
    int status = verify_parts(f, f->held, (int)f->nheld);
    f->nheld = 0;
    f->held_bytes = 0;
    return status;
}

/* Where a piece is read to, behind those that wait for being verified; from storage many do. */
static int place_piece(io_step *f, io_part *parts, int n, uint64_t bytes) {
    const io_session *s = f->session;
    bool many = f->direction == IO_READING && s->what->drop_caches && f->files == 1;
    uint64_t room = many ? s->buffer_bytes : bytes;
    double began = io_monotonic_seconds();
    bool full = f->held_bytes + bytes > room || f->nheld + (size_t)n > IO_MOST_HELD;
    int status = full ? verify_held(f) : 0;
    if (!f->held_bytes && io_step_verifies(f) && f->direction == IO_READING)
        memset(s->buffer, POISON, room > bytes ? room : bytes);
    for (int i = n - 1; i >= 0; i--)
        parts[i].data = s->buffer + f->held_bytes + (parts[i].offset - parts[0].offset);
    f->paused += io_monotonic_seconds() - began;
    return status;
}

static int hold_piece(io_step *f, const io_part *parts, int n, uint64_t bytes) {
    if (f->direction == IO_WRITING || !io_step_verifies(f)) return 0;
    double began = io_monotonic_seconds();
    size_t wanted = f->nheld + (size_t)n;
    if (wanted > f->held_room) {
        io_part *more = realloc(f->held, 2 * wanted * sizeof *more);
        if (!more) return io_fail(f->ctx.error, "out of memory for %zu parts", 2 * wanted);
        f->held = more;
        f->held_room = 2 * wanted;
    }
    if (n) memcpy(f->held + f->nheld, parts, (size_t)n * sizeof *parts);
    f->nheld = wanted;
    f->held_bytes += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    f->paused += io_monotonic_seconds() - began;
    return 0;
}

static void prepare_piece(io_step *f, const io_part *parts, int n) {
    double began = io_monotonic_seconds();
    for (int i = n - 1; f->direction == IO_WRITING && f->session->found && i >= 0; i--)
        fill_part(f, &parts[i]);
    if (f->direction == IO_WRITING) f->seconds.fill += io_monotonic_seconds() - began;
    if (synchronised(f)) io_meet(f->session->world);
    f->paused += io_monotonic_seconds() - began;
}

/* A piece lasts from when the first process of a node began it to when the last one ended: the clock of each
 * advances to there. Its own time alone would leave out how it waited for a lock, or on a busy node for a
 * core, before its call. Whether any process failed; `more`: whether any has another piece. */
static bool end_synchronised(io_step *f, double began, double ended, bool failed, bool *more) {
    io_world *world = f->session->world;
    double reducing = io_monotonic_seconds(), all[3];
    double mine[] = {io_node_seconds(world, began, ended), failed, *more};
    io_reduce_max(world, world->comm, mine, all, 3);
    double waited = all[0] - (ended - began);
    f->seconds.waited += waited;
    f->paused += io_monotonic_seconds() - reducing - waited;
    *more = all[2] > 0;
    return all[1] > 0;
}

/* A transfer through a reused buffer, of at least one call. A process without another piece only joins the
 * others. */
static int move_pieces(io_step *f, int n) {
    int first = 0;
    bool more = true;
    for (bool calls = true; more; calls = first < n) {
        io_part *parts = f->parts + first;
        uint64_t bytes;
        int some = piece_of(&f->schema, parts, n - first, f->shared, &bytes);
        bool wrong = place_piece(f, parts, some, bytes); /* the others make the call */
        prepare_piece(f, parts, some);
        io_latency_begin(f->session->latency);
        double began = io_monotonic_seconds();
        bool failed = (calls && call_method(f, parts, some)) || wrong;
        double ended = io_monotonic_seconds();
        failed = failed || hold_piece(f, parts, some, bytes);
        first += some;
        more = first < n;
        if (synchronised(f)) failed = end_synchronised(f, began, ended, failed, &more);
        if (failed) return -1;
    }
    return 0;
}

static int move_transfers(io_step *f, uint64_t from, uint64_t to) {
    io_latency_begin(f->session->latency);
    for (uint64_t k = from; k < to; k++) {
        int n = parts_of(f, k);
        if (reuses(f) ? move_pieces(f, n) : call_method(f, f->parts, n)) return -1;
    }
    return 0;
}

/* All together, unless processes take turns: then one must finish before the next starts. */
static int move_stretch(io_step *f, int which, uint64_t from, uint64_t to) {
    bool all_at_once = !f->session->what->io_group;
    io_now_at(f->session->world, IO_AT_OTHERS);
    if (all_at_once) IO_MPI(f->session->world, MPI_Barrier, f->session->world->comm);
    double began = io_step_clock(f), waited = f->seconds.waited;
    int status = move_transfers(f, from, to);
    f->seconds.stretch[which] += io_step_clock(f) - began;
    f->seconds.waited_in[which] += f->seconds.waited - waited;
    return all_at_once ? io_agree(f->session->world) : status;
}

static int move_all(io_step *f) {
    const io_case *c = f->session->what;
    uint64_t transfers = f->transfers_each;
    if (!c->pattern->stretch) return move_transfers(f, 0, transfers);
    for (uint64_t k = 0, next; k < transfers; k = next) {
        int which = c->pattern->stretch(c->state, k);
        for (next = k + 1; next < transfers && c->pattern->stretch(c->state, next) == which;) next++;
        if (move_stretch(f, which, k, next)) return -1;
    }
    return 0;
}

int io_step_move(io_step *f) {
    if (move_all(f)) return -1;
    double began = io_monotonic_seconds();
    int status = verify_held(f);
    f->paused += io_monotonic_seconds() - began;
    return status;
}

void io_step_stretch_bytes(io_step *f, io_sample *sample) {
    const io_case *c = f->session->what;
    uint64_t bytes[IO_MAX_STRETCHES] = {0}, transfers = c->pattern->transfers(c->state);
    if (!c->pattern->stretch) return;
    for (uint64_t k = 0; k < transfers; k++)
        for (int i = parts_of(f, k) - 1; i >= 0; i--)
            bytes[c->pattern->stretch(c->state, k)] += io_part_bytes(&f->schema, &f->parts[i]);
    IO_MPI(f->session->world, MPI_Allreduce, MPI_IN_PLACE, bytes, IO_MAX_STRETCHES, MPI_UINT64_T, MPI_SUM,
           f->session->world->comm);
    for (int i = 0; c->pattern->stretches[i]; i++) sample->stretch_bytes[f->direction][i] += bytes[i];
}

/* ---------------------------------------------------------------- memory */

int io_buffer_bytes(const io_case *c, uint64_t owner, uint64_t *most, io_error *error) {
    *most = c->pattern->bytes(c->state, owner);
    if (!c->reuse) return 0;
    io_schema schema;
    c->pattern->schema(c->state, 0, &schema);
    bool shared = !io_own_files(c);
    size_t room = (size_t)io_most_parts(c->pattern, c->state);
    io_part *parts = malloc(room * sizeof *parts);
    if (!parts) return io_fail(error, "out of memory for %zu parts", room);
    *most = 0;
    for (uint64_t k = c->pattern->transfers(c->state); k--;) {
        int n = c->pattern->parts(c->state, owner, k, parts), some;
        for (int i = 0; i < n; i += some) {
            uint64_t bytes;
            some = piece_of(&schema, parts + i, n - i, shared, &bytes);
            if (bytes > *most) *most = bytes;
        }
    }
    free(parts);
    uint64_t all = c->pattern->bytes(c->state, owner), held = all < IO_HELD ? all : IO_HELD;
    if (c->read && c->verify && c->drop_caches && held > *most) *most = held;
    return 0;
}
