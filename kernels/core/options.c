/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hints.h"
#include "method_options.h"

enum {
    METHOD = 1000,
    MODE,
    DIR,
    HINT,
    PREFIX,
    FSYNC,
    IO_GROUP,
    BUFFER,
    COMPUTE,
    STEPS,
    REPEAT,
    WRITE_ONLY,
    READ_ONLY,
    KEEP,
    CEILINGS,
    DROP_CACHES,
    NO_SPACE_CHECK,
    SEED,
    PHASES,
    JSON,
    PROCS,
    PLAN,
    LIST,
    HELP,
    VERSION
};

static const io_option common[] = {
    {"method", METHOD, "M", "how it is written and read (see --list)"},
    {"mode", MODE, "MODE", "how the method calls its library: one of its modes (see --list)"},
    {"dir", DIR, "D", "an existing, writable directory"},
    {"hint", HINT, "K=V", "an MPI-IO or library hint; may be repeated"},
    {"prefix", PREFIX, "P", "before file names given to MPI, such as ufs:"},
    {"fsync", FSYNC, NULL, "flush to stable storage, timed"},
    {"io-group", IO_GROUP, "N", "files of their own: one process of each N at a time (default: all at once)"},
    {"buffer", BUFFER, "B", "whole: a step's data lies in memory; reused: one buffer, filled call by call"},
    {"compute-seconds", COMPUTE, "T", "compute between dumps, and say how much of the time went into I/O"},
    {"steps", STEPS, "N", "dumps, a file each (default 1)"},
    {"repeat", REPEAT, "N", "repeats, with fresh files (default 1)"},
    {"write-only", WRITE_ONLY, NULL, "do not read back"},
    {"read-only", READ_ONLY, NULL, "read and verify files kept by an earlier run"},
    {"keep", KEEP, NULL, "leave the files"},
    {"ceilings", CEILINGS, NULL, "measure what the file system gives to plain POSIX, between repeats"},
    {"drop-caches", DROP_CACHES, NULL, "empty the page cache before reading"},
    {"no-space-check", NO_SPACE_CHECK, NULL, "do not ask the file system for its free space first"},
    {"seed", SEED, "N", "of the values (default 1)"},
    {"phases", PHASES, NULL, "print minimum, mean and maximum of each phase"},
    {"json", JSON, "FILE", "the result document; - for stdout"},
    {"procs", PROCS, "N", "with --plan: process count"},
    {"plan", PLAN, NULL, "print files, bytes, calls and memory, without running"},
    {"list", LIST, NULL, "what this build can do"},
    {"help", HELP, NULL, "this"},
    {"version", VERSION, NULL, "version of iokernel and its libraries"},
    {0},
};
#define MOST_OPTIONS 96

/* getopt's tables, from the common options and the pattern's. */
static void add_options(const io_option *from, struct option *longs, int *n, char *shorts) {
    for (; from && from->letter; from++) {
        if (from->name && *n < MOST_OPTIONS - 1)
            longs[(*n)++] = (struct option){from->name, from->value ? required_argument : no_argument, NULL,
                                            from->letter};
        if (from->letter < 256) {
            size_t used = strlen(shorts);
            shorts[used] = (char)from->letter;
            if (from->value) shorts[used + 1] = ':';
        }
    }
}

static int set_mode(io_run *run, const char *value, io_error *error) {
    char names[IO_MODES_TEXT];
    run->mode_given = true;
    if (!io_mode_find(value, &run->mode)) return 0;
    return io_fail_usage(error, "--mode %s is unknown; right is %s", value,
                         io_mode_names((1u << IO_MODES) - 1, names));
}

static int set_dir(io_run *run, const char *value, io_error *error) {
    if (!*value || strlen(value) >= sizeof run->dir / 2)
        return io_fail_usage(error, "--dir is empty or longer than %zu characters", sizeof run->dir / 2);
    snprintf(run->dir, sizeof run->dir, "%s", value);
    return 0;
}

static int set_seconds(io_run *run, const char *value, io_error *error) {
    char *end;
    run->compute_seconds = strtod(value, &end);
    if (end != value && !*end && run->compute_seconds > 0 && run->compute_seconds < 1e6) return 0;
    return io_fail_usage(error, "--compute-seconds %s: right is a number above 0, such as 2.5", value);
}

static int set_buffer(io_run *run, const char *value, io_error *error) {
    run->reuse_given = true;
    run->reuse = !strcmp(value, "reused");
    if (run->reuse || !strcmp(value, "whole")) return 0;
    return io_fail_usage(error, "--buffer %s is unknown; right is whole or reused", value);
}

static int set_common(io_run *run, io_action *action, int letter, const char *value, io_error *error) {
    switch (letter) {
    case METHOD: return io_method_find(value, &run->method, error);
    case MODE: return set_mode(run, value, error);
    case DIR: return set_dir(run, value, error);
    case HINT: return io_hints_add(&run->hints, value, error);
    case PREFIX: run->prefix = value; return 0;
    case FSYNC: run->fsync = true; return 0;
    case IO_GROUP: return io_parse_count("--io-group", value, &run->io_group, error);
    case BUFFER: return set_buffer(run, value, error);
    case COMPUTE: return set_seconds(run, value, error);
    case STEPS: return io_parse_count("--steps", value, &run->steps, error);
    case REPEAT: return io_parse_count("--repeat", value, &run->repeats, error);
    case WRITE_ONLY: run->read = false; return 0;
    case READ_ONLY: run->write = false; return 0;
    case KEEP: run->keep = true; return 0;
    case CEILINGS: run->ceilings = true; return 0;
    case DROP_CACHES: run->drop_caches = true; return 0;
    case NO_SPACE_CHECK: run->space_check = false; return 0;
    case SEED: return io_parse_count("--seed", value, &run->seed, error);
    case PHASES: run->phases = true; return 0;
    case JSON: run->json = value; return 0;
    case PROCS: return io_parse_count("--procs", value, &run->processes, error);
    case PLAN: *action = IO_DO_PLAN; return 0;
    case LIST: *action = IO_DO_LIST; return 0;
    case HELP: *action = IO_DO_HELP; return 0;
    default: *action = IO_DO_VERSION; return 0;
    }
}

static int choose_pattern(const char *name, io_run *run, io_error *error) {
    char names[256] = "";
    int n;
    const io_pattern *const *all = io_patterns(&n);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", all[i]->name);
    }
    if (!name)
        return io_fail_usage(
            error, "no pattern given; right is iokernel PATTERN --method M --dir D, with PATTERN one of %s",
            names);
    run->pattern = io_pattern_find(name);
    if (!run->pattern)
        return io_fail_usage(error, "pattern '%s' is unknown; right is one of %s", name, names);
    run->state = calloc(1, run->pattern->state_size);
    if (!run->state) return io_fail(error, "out of memory for pattern %s", name);
    run->pattern->defaults(run->state);
    return 0;
}

/* getopt's own messages would come from every process: ours comes once. */
static int bad_option(int c, char **argv, io_error *error) {
    const char *word = argv[optind - 1];
    if (c == ':') return io_fail_usage(error, "option %s needs a value; see iokernel --help", word);
    return io_fail_usage(error, "option %s is unknown; see iokernel %s --help", word, argv[1]);
}

int io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error) {
    struct option longs[MOST_OPTIONS] = {{0}};
    char shorts[2 * MOST_OPTIONS] = ":";
    int n = 0, c;
    *run = (io_run){.prefix = "",
                    .steps = 1,
                    .repeats = 1,
                    .seed = 1,
                    .write = true,
                    .read = true,
                    .verify = true,
                    .space_check = true,

                    .argc = argc,
                    .argv = argv};
    *action = IO_DO_RUN;
    bool named = argc > 1 && argv[1][0] != '-';
    if (named && choose_pattern(argv[1], run, error)) return -1;
    add_options(common, longs, &n, shorts);
    int own = n;
    io_method_options_add(longs, &n, MOST_OPTIONS);
    if (named) add_options(run->pattern->options, longs, &n, shorts);
    optind = named ? 2 : 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (c == '?' || c == ':') return bad_option(c, argv, error);
        int status = c >= IO_METHOD_LETTER
                         ? io_method_options_keep(run, longs[own + c - IO_METHOD_LETTER].name, optarg, error)
                     : c >= METHOD ? set_common(run, action, c, optarg, error)
                                   : run->pattern->option(run->state, run, c, optarg, error);
        if (status) return -1;
    }
    if (optind < argc)
        return io_fail_usage(error, "'%s' is not an option; see iokernel --help", argv[optind]);
    if (!run->write && !run->read)
        return io_fail_usage(error, "--write-only and --read-only exclude each other; give at most one");
    if (!named && (*action == IO_DO_RUN || *action == IO_DO_PLAN)) return choose_pattern(NULL, run, error);
    return 0;
}

void io_options_release(io_run *run) {
    if (run->state && run->pattern->release) run->pattern->release(run->state);
    free(run->state);
    free(run->hints.items);
    io_method_options_release(run);
}

static int check_mode(io_run *run, uint64_t processes, io_error *error) {
    const io_method *m = run->method;
    char names[IO_MODES_TEXT];
    if (!run->mode_given) run->mode = m->default_mode;
    if (m->modes >> run->mode & 1 && run->mode == IO_SERIAL && processes > 1)
        return io_fail_usage(error, "--mode serial is of one process, and here are %llu; right is -n 1",
                             (unsigned long long)processes);
    if (!run->mode_given || m->modes >> run->mode & 1) return 0;
    io_mode_names(m->modes, names);
    if (!m->modes)
        return io_fail_usage(error, "method %s has no modes; leave --mode %s out", m->name,
                             io_mode_name(run->mode));
    if (m->lacks[run->mode])
        return io_fail_usage(error, "--mode %s: this build of method %s lacks %s; right is %s",
                             io_mode_name(run->mode), m->name, m->lacks[run->mode], names);
    return io_fail_usage(error, "method %s has no mode %s; right is %s", m->name, io_mode_name(run->mode),
                         names);
}

static int check_own_hints(io_run *run, io_error *error) {
    for (int i = 0; i < run->hints.n; i++) {
        const io_hint *hint = &run->hints.items[i];
        if (strncmp(hint->key, "hdf5_", 5)) continue; /* MPI passes over hints that it does not know */
        if (!run->method->check_hint)
            return io_fail_usage(error, "--hint %s is for methods on top of HDF5; leave it out for method %s",
                                 hint->key, run->method->name);
        if (run->method->check_hint(hint, run->mode, error)) return -1;
    }
    return 0;
}

/* A reused buffer stops a process's clock, and so must not be what others wait for on theirs. */
static int check_buffer(io_run *run, io_error *error) {
    const char *waiting = run->method->servers ? "the I/O processes go on while values are made"
                          : run->io_group      ? "with --io-group others wait for their turn meanwhile"
                                               : NULL;
    if (!run->reuse_given) run->reuse = run->pattern->packs && !waiting;
    if (!run->reuse || !waiting) return 0;
    return io_fail_usage(error, "--buffer reused: %s, which would be measured; right is --buffer whole",
                         waiting);
}

int io_configure(io_run *run, uint64_t processes, io_error *error) {
    if (io_method_configure(run, processes, error)) return -1;
    if (run->method) processes -= run->method->servers;
    run->processes = processes;
    if (run->pattern->configure(run->state, run, processes, error)) return -1;
    if (!run->method)
        return io_fail_usage(error, "no --method given; right is one of those that iokernel --list shows");
    if (check_mode(run, processes, error) || check_own_hints(run, error)) return -1;
    io_schema schema;
    run->pattern->schema(run->state, 0, &schema);
    if (run->method->check_schema && run->method->check_schema(&schema, error)) return -1;
    if (run->io_group && !schema.file_per_process && !(run->method->traits & IO_FILE_PER_PROCESS))
        return io_fail_usage(error,
                             "--io-group is for a file for each process, and method %s writes one shared "
                             "file; leave it out, or use --method posix",
                             run->method->name);
    if (check_buffer(run, error)) return -1;
    if (!run->plan && !run->dir[0])
        return io_fail_usage(error, "no --dir given; right is a directory on the file system to measure");
    if (run->ceilings && !(run->write && run->read))
        return io_fail_usage(error,
                             "--ceilings measures both directions; leave --write-only and --read-only out");
    return 0;
}

static void print_options(const io_option *o) {
    for (; o && o->letter; o++) {
        char left[64];
        if (o->name)
            snprintf(left, sizeof left, "--%s %s", o->name, o->value ? o->value : "");
        else
            snprintf(left, sizeof left, "-%c %s", o->letter, o->value ? o->value : "");
        printf("  %-26s %s\n", left, o->help);
    }
}

void io_print_help(const io_run *run) {
    int n;
    const io_pattern *const *patterns = io_patterns(&n);
    printf("Usage: iokernel PATTERN [pattern options] --method M --dir D [options]\n\nPatterns:\n");
    for (int i = 0; i < n; i++)
        if (!run->pattern || run->pattern == patterns[i]) {
            printf("%s: %s\n", patterns[i]->name, patterns[i]->summary);
            /* Neighbours with one table show it once. */
            bool again = !run->pattern && i + 1 < n && patterns[i + 1]->options == patterns[i]->options;
            if (!again) print_options(patterns[i]->options);
        }
    const io_method_entry *methods = io_methods(&n);
    for (int i = 0; i < n; i++)
        if (methods[i].method && methods[i].method->options) {
            printf("\nOptions of method %s:\n", methods[i].name);
            print_options(methods[i].method->options);
        }
    printf("\nOptions:\n");
    print_options(common);
    printf("\nExit status: 0 all well and verified; 1 the run failed or a byte was wrong; 2 usage.\n");
}
