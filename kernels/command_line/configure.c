/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/configure.h"

#include <string.h>

#include "command_line/check_hints.h"
#include "command_line/method_options.h"
#include "driver/replay.h"
#include "methods/registry.h"

/* Sets common options that depend on the pattern, the method, and the directions. */
static int adjust(io_run *run, io_error *error) {
    io_case *c = &run->what;
    if (c->pattern->adjust && c->pattern->adjust(c->state, &c->common, error)) return -1;
    if (c->common.method && io_method_find(c->common.method, &c->method, error)) return -1;
    if (c->pattern->schedule) c->method = &io_method_as_logged;
    c->write = !c->common.read_only;
    c->read = !c->common.write_only;
    if (c->write || c->read) return 0;
    return io_fail_usage(error, "--write-only and --read-only are mutually exclusive");
}

static int choose_mode(io_case *c, io_error *error) {
    char names[IO_MODES_TEXT];
    if (c->common.mode && io_mode_find(c->common.mode, &c->mode))
        return io_fail_usage(error, "--mode %s is unknown; use %s", c->common.mode,
                             io_mode_names((1u << IO_MODES) - 1, names));
    if (c->common.mode || !c->method) return 0;
    c->mode = c->method->default_mode;
    if (!c->method->modes || c->common.calls == IO_ANY_CALLS) return 0;
    c->mode = c->common.calls == IO_COLLECTIVE_CALLS ? IO_COLLECTIVE : IO_INDEPENDENT;
    return 0;
}

static int check_mode(const io_case *c, uint64_t processes, io_error *error) {
    const io_method *m = c->method;
    const char *name = io_mode_name(c->mode);
    char names[IO_MODES_TEXT];
    bool has = m->modes >> c->mode & 1;
    if (has && io_mode_has(c->mode, IO_ONE_PROCESS) && processes > 1)
        return io_fail_usage(error, "--mode %s supports one process only, not %llu; use mpiexec -n 1", name,
                             (unsigned long long)processes);
    if (has || (!m->modes && !c->common.mode)) return 0;
    io_mode_names(m->modes, names);
    if (!m->modes) return io_fail_usage(error, "method %s has no modes; omit --mode %s", m->name, name);
    if (m->lacks[c->mode])
        return io_fail_usage(error, "--mode %s: this build of method %s lacks %s; use %s", name, m->name,
                             m->lacks[c->mode], names);
    return io_fail_usage(error, "method %s has no mode %s; use %s", m->name, name, names);
}

/* MPI ignores unknown hints; a method checks its own. */
static int check_own_hints(const io_case *c, io_error *error) {
    for (int i = 0; i < c->hints.n; i++) {
        const io_hint *hint = &c->hints.items[i];
        if (io_hint_channel_of(hint->key) != IO_HINT_HDF5) continue;
        if (!c->method->check_hint)
            return io_fail_usage(error, "--hint %s is for methods based on HDF5; omit it for method %s",
                                 hint->key, c->method->name);
        if (c->method->check_hint(hint, c->mode, error)) return -1;
    }
    return 0;
}

/* A reused buffer stops the clock of its process, so other processes must not wait for it meanwhile. */
static int check_buffer(io_run *run, io_error *error) {
    io_case *c = &run->what;
    const char *waiting = c->method->servers ? "the I/O processes continue while values are generated"
                          : c->io_group      ? "with --io-group other processes wait meanwhile"
                                             : NULL;
    if (!run->reuse_given) c->reuse = (c->pattern->packs || c->common.packs) && !waiting;
    if (!c->reuse || !waiting) return 0;
    return io_fail_usage(error, "--buffer reused: %s, which would be timed; use --buffer whole", waiting);
}

static int configure_pattern(io_case *c, uint64_t processes, io_error *error) {
    const io_method *m = c->method;
    const io_setup setup = {.processes = processes,
                            .seed = c->seed,
                            .own_files = m && m->traits & IO_FILE_PER_PROCESS,
                            .collective = m && m->modes && io_mode_has(c->mode, IO_IS_COLLECTIVE),
                            .method = m ? m->name : NULL,
                            .mode = m && m->modes ? io_mode_name(c->mode) : NULL};
    return c->pattern->configure(c->state, &setup, error);
}

int io_configure(io_run *run, uint64_t processes, io_error *error) {
    io_case *c = &run->what;
    if (adjust(run, error) || io_method_configure(run, processes, error)) return -1;
    processes -= io_servers(c);
    run->processes = processes;
    if (choose_mode(c, error) || configure_pattern(c, processes, error)) return -1;
    if (!c->method) return io_fail_usage(error, "no --method given; iokernel --list shows the methods");
    if (check_mode(c, processes, error) || io_check_hints(run, error) || check_own_hints(c, error)) return -1;
    if (c->pattern->schedule && c->steps > 1)
        return io_fail_usage(error, "--steps: a replay has no steps; use --repeat");
    io_schema schema;
    uint64_t all;
    c->pattern->schema(c->state, 0, &schema);
    const io_choice choice = {c->mode, &c->hints, c->method_state, c->prefix};
    if (c->method->check_schema && c->method->check_schema(&schema, &choice, error)) return -1;
    if (c->io_group && !io_own_files(c))
        return io_fail_usage(error,
                             "--io-group needs a file per process, but method %s writes one shared "
                             "file; omit it, or use --method posix",
                             c->method->name);
    if (c->pattern->creates_empty && c->pattern->creates_empty(c->state) && c->method->traits & IO_FOLDER)
        return io_fail_usage(error,
                             "--create-empty creates files, but method %s writes directories; omit it, or "
                             "use --method posix",
                             c->method->name);
    if (check_buffer(run, error)) return -1;
    if (!run->plan && (__builtin_mul_overflow(c->common.repeats, c->steps, &all) || all > INT64_MAX / 4096))
        return io_fail_usage(error,
                             "--repeat %llu and --steps %llu give more dumps than can be timed; use fewer",
                             (unsigned long long)c->common.repeats, (unsigned long long)c->steps);
    if (!run->plan && !c->common.dir[0])
        return io_fail_usage(error, "no --dir given; expected a directory on the file system to measure");
    if (!run->ceilings && (run->ceiling.small || run->ceiling.seconds > 0))
        return io_fail_usage(error, "%s: measures more of the ceilings; add --ceilings",
                             run->ceiling.small ? "--small" : "--ceiling-seconds");
    if (run->ceilings && !(c->write && c->read))
        return io_fail_usage(error, "--ceilings measures both directions; omit --write-only and --read-only");
    return 0;
}
