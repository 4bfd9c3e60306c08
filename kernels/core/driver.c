#include "driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "evidence.h"
#include "servers.h"
#include "visit.h"

const io_phase_name io_phases[IO_PHASES] = {
    [IO_CREATE] = {"create", IO_WRITING},
      [IO_WRITE] = {"write",  IO_WRITING},
    [IO_FLUSH] = {"flush",  IO_WRITING},
      [IO_CLOSE] = {"close",  IO_WRITING},
    [IO_DRAIN] = {"drain",  IO_WRITING},
      [IO_OPEN] = {"open",   IO_READING},
    [IO_READ] = {"read",   IO_READING},
      [IO_READ_CLOSE] = {"close",  IO_READING},
};

/* One step of one direction, in flight. */
typedef struct {
    io_session *session;
    io_ctx ctx;
    io_schema schema;
    io_file *file;
    io_part *parts;
    uint64_t owner, step;
    int direction;
    char path[IO_MAX_PATH];
    double began, phase[IO_PHASES]; /* seconds of this process */
    uint64_t calls;                 /* to the library, with the closing one */
} flight;

static void begin(flight *f, io_phase phase) {
    const io_phase_name *name = &io_phases[phase];
    io_world_doing(f->session->world, name->name, f->session->what->method->name, f->path);
    MPI_Barrier(f->session->world->comm);
    f->began = MPI_Wtime();
    if (!f->session->began) f->session->began = f->began;
}

static int end(flight *f, io_phase phase) {
    f->phase[phase] = MPI_Wtime() - f->began;
    return io_agree(f->session->world);
}

static int prepare(flight *f, io_session *s, uint64_t step, uint64_t owner) {
    const io_case *c = s->what;
    *f = (flight){.session = s, .owner = owner, .step = step};
    c->pattern->schema(c->state, step, &f->schema);
    if (io_file_path(s, step, owner, f->path)) return -1;
    f->ctx = (io_ctx){.comm = s->world->comm,
                      .mode = c->mode,
                      .hints = c->hints,
                      .info = c->info,
                      .prefix = c->prefix,
                      .state = c->method_state,
                      .error = &s->world->error};
    f->parts = malloc((size_t)c->pattern->max_parts * sizeof *f->parts);
    if (!f->parts) return io_fail(&s->world->error, "out of memory for %d parts", c->pattern->max_parts);
    return 0;
}

/* The communicator's rank is the owner whose parts this process moves; with a file for each process
 * there is nobody else. */
static int set_communicator(flight *f) {
    int code = f->schema.file_per_process
                   ? MPI_Comm_dup(MPI_COMM_SELF, &f->ctx.comm)
                   : MPI_Comm_split(f->session->world->comm, 0, (int)f->owner, &f->ctx.comm);
    if (code) return io_fail_mpi(f->ctx.error, "MPI_Comm_split", f->path, code);
    MPI_Comm_set_errhandler(f->ctx.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(f->ctx.comm, &f->ctx.rank);
    MPI_Comm_size(f->ctx.comm, &f->ctx.size);
    return 0;
}

static void finish(flight *f) {
    if (f->ctx.comm != f->session->world->comm && f->ctx.comm != MPI_COMM_NULL) MPI_Comm_free(&f->ctx.comm);
    free(f->parts);
}

/* The parts of one call, pointing into the buffer. */
static int parts_of(flight *f, uint64_t call) {
    const io_case *c = f->session->what;
    int n = c->pattern->parts(c->state, f->owner, call, f->parts);
    for (int i = 0; i < n; i++) f->parts[i].data = f->session->buffer + f->parts[i].offset;
    return n;
}

static void fill_part(const flight *f, const io_part *part) {
    const io_case *c = f->session->what;
    if (f->schema.datasets[part->dataset].facts)
        c->pattern->facts(c->state, f->owner, f->step, part, part->data);
    else
        io_fill(&f->schema, part, c->seed, f->step);
}

static void fill(flight *f) {
    const io_case *c = f->session->what;
    uint64_t calls = c->pattern->calls(c->state);
    for (uint64_t k = 0; k < calls; k++)
        for (int i = parts_of(f, k) - 1; i >= 0; i--) fill_part(f, &f->parts[i]);
}

static int move_all(flight *f) {
    const io_case *c = f->session->what;
    bool writing = f->direction == IO_WRITING;
    uint64_t calls = c->pattern->calls(c->state);
    for (uint64_t k = 0; k < calls; k++) {
        int n = parts_of(f, k);
        if (writing ? c->method->write(f->file, f->parts, n) : c->method->read(f->file, f->parts, n))
            return -1;
    }
    return 0;
}

static int verify_part(const flight *f, const io_part *part) {
    const io_case *c = f->session->what;
    void *facts = NULL;
    if (f->schema.datasets[part->dataset].facts) {
        uint64_t bytes = io_part_bytes(&f->schema, part);
        facts = malloc(bytes + 1);
        if (!facts)
            return io_fail(f->ctx.error, "out of memory for %" PRIu64 " bytes of %s", bytes,
                           f->schema.datasets[part->dataset].name);
        c->pattern->facts(c->state, f->owner, f->step, part, facts);
    }
    io_verify_part(f->session->found, part, facts, f->file, c->seed, f->step);
    free(facts);
    return 0;
}

static int verify(flight *f) {
    const io_case *c = f->session->what;
    uint64_t calls = c->pattern->calls(c->state);
    for (uint64_t k = 0; k < calls; k++) {
        int n = parts_of(f, k);
        for (int i = 0; i < n; i++)
            if (verify_part(f, &f->parts[i])) return -1;
    }
    return io_own_files(f->session->what) ? io_check_texts(f->session, f->step) : 0;
}

/* What the phases do. The directory and the text files beside are part of creating, as users wait for them.
 */
static int create_file(flight *f) {
    if (io_own_files(f->session->what) && io_write_texts(f->session, f->step)) return -1;
    return f->session->what->method->create(&f->ctx, f->path, &f->schema, &f->file);
}

static int open_file(flight *f) {
    return f->session->what->method->open(&f->ctx, f->path, &f->schema, &f->file);
}

static int sync_file(flight *f) { return f->session->what->method->sync(f->file); }

static int close_file(flight *f) {
    io_file *file = f->file;
    f->calls = file->calls + 1;
    f->file = NULL;
    return f->session->what->method->close(file);
}

/* One phase: on the clock, and in turns where --io-group asks for them. A failure is in the world's error. */
static int phase(flight *f, io_phase which, int (*work)(flight *)) {
    begin(f, which);
    int status = 0;
    if (which == IO_CREATE && io_own_files(f->session->what)) status = io_make_directory(f->session, f->step);
    if (io_take_turn(f->session)) status = -1;
    if (!status) work(f);
    io_pass_turn(f->session);
    return end(f, which);
}

/* What the library made of the file, asked once, between two phases. */
static int note(flight *f) {
    io_found *found = f->session->found;
    if (f->direction == IO_WRITING && f->session->what->method->servers)
        return 0; /* it may not be there yet */
    return found ? io_note_file(found, f->session->world, f->file) : 0;
}

static int write_phases(flight *f) {
    io_session *s = f->session;
    if (phase(f, IO_CREATE, create_file) || note(f)) return -1;
    if (phase(f, IO_WRITE, move_all)) return -1;
    if (s->what->fsync && phase(f, IO_FLUSH, sync_file)) return -1;
    return phase(f, IO_CLOSE, close_file);
}

static int read_phases(flight *f) {
    io_session *s = f->session;
    const io_method *m = s->what->method;
    if (phase(f, IO_OPEN, open_file) || note(f)) return -1;
    if (phase(f, IO_READ, move_all)) return -1;
    if (s->found && s->verify && !(m->traits & IO_MOVES_NOTHING)) verify(f);
    return phase(f, IO_READ_CLOSE, close_file);
}

static void reduce(flight *f, io_sample *sample, int direction) {
    io_session *s = f->session;
    double max[IO_PHASES], min[IO_PHASES], sum[IO_PHASES];
    uint64_t most;
    MPI_Allreduce(f->phase, max, IO_PHASES, MPI_DOUBLE, MPI_MAX, s->world->comm);
    MPI_Allreduce(f->phase, min, IO_PHASES, MPI_DOUBLE, MPI_MIN, s->world->comm);
    MPI_Allreduce(f->phase, sum, IO_PHASES, MPI_DOUBLE, MPI_SUM, s->world->comm);
    MPI_Allreduce(&f->calls, &most, 1, MPI_UINT64_T, MPI_MAX, s->world->comm);
    sample->calls[direction] += most;
    for (int p = 0; p < IO_PHASES; p++) {
        if (io_phases[p].direction != direction) continue;
        sample->phase[p].max += max[p];
        sample->phase[p].min += min[p];
        sample->phase[p].mean += sum[p] / s->world->size;
        sample->seconds[direction] += max[p];
    }
}

/* One file, written or read. */
static int one_step(io_session *s, uint64_t step, uint64_t owner, int direction, io_sample *sample) {
    flight f;
    int status = prepare(&f, s, step, owner);
    if (!status) status = set_communicator(&f);
    if (io_agree(s->world)) {
        finish(&f);
        return -1;
    }
    uint64_t bytes = s->what->pattern->bytes(s->what->state, owner);
    f.direction = direction;
    if (direction == IO_READING)
        memset(s->buffer, 0xA5, bytes); /* a read that moves nothing is seen */
    else if (s->found)
        fill(&f);
    status = direction == IO_WRITING ? write_phases(&f) : read_phases(&f);
    /* After a failure the file stays as it is: the library's state is unknown and the job ends. */
    if (!status) reduce(&f, sample, direction);
    finish(&f);
    return status;
}

static uint64_t owner_to_read(const io_session *s) {
    const io_world *w = s->world;
    io_reader reader = {(uint64_t)w->rank, (uint64_t)w->size, (uint64_t)w->per_node, (uint64_t)w->nodes,
                        s->repeat};
    if (s->what->pattern->owner_to_read) return s->what->pattern->owner_to_read(s->what->state, &reader);
    /* Another node's data where there is one, another process's anyway. */
    return (reader.rank + (reader.nodes > 1 ? reader.per_node : 1)) % reader.size;
}

int io_measure(io_session *s, io_sample *sample) {
    const io_case *c = s->what;
    uint64_t rank = (uint64_t)s->world->rank;
    int status = 0;
    *sample = (io_sample){0};
    s->began = 0;
    if (s->write) io_remove_own(s); /* fresh files: overwriting is another measurement */
    for (uint64_t step = 0; s->write && step < c->steps && !status; step++) {
        status = one_step(s, step, rank, IO_WRITING, sample);
        if (!status) io_compute(s);
    }
    if (!status && s->write) status = io_drain(s, sample);
    if (!status && s->found) status = io_look_at_files(s);
    if (!status && s->read) {
        io_cool_files(s);
        uint64_t owner = owner_to_read(s);
        for (uint64_t step = 0; step < c->steps && !status; step++)
            status = one_step(s, step, owner, IO_READING, sample);
    }
    if (s->write && !s->keep) io_remove_all(s);
    double bytes = (double)(io_total_bytes(c->pattern, c->state, (uint64_t)s->world->size) * c->steps);
    for (int d = 0; d < IO_DIRECTIONS; d++)
        if (sample->seconds[d] > 0) sample->bandwidth[d] = bytes / sample->seconds[d] / 1048576;
    return status;
}

uint64_t io_largest_share(io_world *world, const io_pattern *pattern, const void *state) {
    uint64_t mine = pattern->bytes(state, (uint64_t)world->rank), largest = mine;
    MPI_Allreduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MAX, world->comm);
    return largest;
}

uint64_t io_total_bytes(const io_pattern *pattern, const void *state, uint64_t processes) {
    uint64_t total = 0;
    for (uint64_t owner = 0; owner < processes; owner++) total += pattern->bytes(state, owner);
    return total;
}
