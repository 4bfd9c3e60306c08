/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "command_line/method_options.h"
#include "patterns/registry.h"

enum {
    METHOD = 1000,
    MODE,
    DIR,
    OWN_DIR,
    HINT,
    UNKNOWN_HINTS,
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
    OVERWRITE,
    CEILINGS,
    CEILING_SECONDS,
    SMALL,
    DROP_CACHES,
    NO_SPACE_CHECK,
    SEED,
    PATIENCE,
    START_LIMIT,
    PHASES,
    JSON,
    PROCS,
    PLAN,
    LIST,
    HELP,
    VERSION
};

const io_option io_common_options[] = {
    {"method", METHOD, "M", "how data is written and read (see --list)"},
    {"mode", MODE, "MODE", "how the method calls its library (see --list)"},
    {"dir", DIR, "D", "existing, writable directory for the files"},
    {"own-dir", OWN_DIR, "D", "directory for files per process, with one stripe on Lustre (default: --dir)"},
    {"hint", HINT, "K=V", "an MPI-IO or library hint; may be repeated"},
    {"unknown-hints", UNKNOWN_HINTS, "HOW",
     "hints that the library does not support: refuse (default) or pass"},
    {"prefix", PREFIX, "P", "prefix of file names given to MPI, such as ufs:"},
    {"fsync", FSYNC, NULL, "flush to stable storage, timed"},
    {"io-group", IO_GROUP, "N",
     "with a file per process: one of every N processes at a time (default: all at once)"},
    {"buffer", BUFFER, "B",
     "whole: all data of a step in memory; reused: one buffer, refilled for each call"},
    {"compute-seconds", COMPUTE, "T",
     "compute for T seconds between dumps, and report the fraction of time in I/O"},
    {"steps", STEPS, "N", "number of dumps, each to a new file (default 1)"},
    {"repeat", REPEAT, "N", "repeat N times, with new files (default 1)"},
    {"write-only", WRITE_ONLY, NULL, "do not read back"},
    {"read-only", READ_ONLY, NULL, "read and verify files kept by an earlier run"},
    {"keep", KEEP, NULL, "keep the files"},
    {"overwrite", OVERWRITE, NULL, "replace files that are there already (default: refuse to)"},
    {"ceilings", CEILINGS, NULL, "also measure plain POSIX bandwidth, between the repeats"},
    {"ceiling-seconds", CEILING_SECONDS, "S", "each of them for at least S seconds (default: once)"},
    {"small", SMALL, NULL, "with --ceilings: also accesses of 4 KiB, and files per second"},
    {"drop-caches", DROP_CACHES, NULL, "drop the page cache before reading"},
    {"no-space-check", NO_SPACE_CHECK, NULL, "do not check free space before writing"},
    {"seed", SEED, "N", "seed of the data values (default 1)"},
    {"patience", PATIENCE, "S", "end a job without progress for S seconds (default 60; 0: never)"},
    {"start-limit", START_LIMIT, "S",
     "end a job whose MPI has not started after S seconds (default 300; 0: never)"},
    {"phases", PHASES, NULL, "print minimum, mean and maximum of each phase"},
    {"json", JSON, "FILE", "write the result document (-: to stdout)"},
    {"procs", PROCS, "N", "with --plan: number of processes"},
    {"plan", PLAN, NULL, "print files, bytes, calls and memory of a run, without running it"},
    {"list", LIST, NULL, "list patterns, methods and modes of this build"},
    {"help", HELP, NULL, "this help"},
    {"version", VERSION, NULL, "versions of iokernel and its libraries"},
    {0},
};
#define MAX_OPTIONS 96

/* Adds options to getopt's tables. */
static void add_options(const io_option *from, struct option *longs, int *n, char *shorts) {
    for (; from && from->letter; from++) {
        if (from->name && *n < MAX_OPTIONS - 1)
            longs[(*n)++] = (struct option){from->name, from->value ? required_argument : no_argument, NULL,
                                            from->letter};
        if (from->letter < 256) {
            size_t used = strlen(shorts);
            shorts[used] = (char)from->letter;
            if (from->value) shorts[used + 1] = ':';
        }
    }
}

static int set_dir(io_run *run, const char *value, io_error *error) {
    if (!*value || strlen(value) >= sizeof run->what.common.dir / 2)
        return io_fail_usage(error, "--dir is empty or longer than %zu characters",
                             sizeof run->what.common.dir / 2);
    snprintf(run->what.common.dir, sizeof run->what.common.dir, "%s", value);
    return 0;
}

static int set_own_dir(io_run *run, const char *value, io_error *error) {
    if (!*value || strlen(value) >= sizeof run->what.common.dir / 2)
        return io_fail_usage(error, "--own-dir is empty or longer than %zu characters",
                             sizeof run->what.common.dir / 2);
    run->what.own_dir = value;
    return 0;
}

static int set_seconds(double *seconds, const char *option, const char *value, io_error *error) {
    char *end;
    *seconds = strtod(value, &end);
    if (end != value && !*end && *seconds > 0 && *seconds < 1e6) return 0;
    return io_fail_usage(error, "%s %s: expected a number above 0, such as 2.5", option, value);
}

/* A time limit: 0 for none, or at least 1. Another value leaves the limit as it is: MPI starts, within it,
 * before the error is reported. */
static int set_limit(double *limit, const char *option, const char *value, io_error *error) {
    char *end;
    double seconds = strtod(value, &end);
    bool valid = end != value && !*end && (seconds == 0 || (seconds >= 1 && seconds < 1e6));
    if (!valid)
        return io_fail_usage(error, "%s %s: expected at least 1 second, or 0 for no limit", option, value);
    *limit = seconds;
    return 0;
}

static int set_unknown_hints(io_run *run, const char *value, io_error *error) {
    run->unknown_hints = !strcmp(value, "pass");
    if (run->unknown_hints || !strcmp(value, "refuse")) return 0;
    return io_fail_usage(error, "--unknown-hints %s is unknown; expected refuse or pass", value);
}

static int set_buffer(io_run *run, const char *value, io_error *error) {
    run->reuse_given = true;
    run->what.reuse = !strcmp(value, "reused");
    if (run->what.reuse || !strcmp(value, "whole")) return 0;
    return io_fail_usage(error, "--buffer %s is unknown; expected whole or reused", value);
}

static int set_common(io_run *run, io_action *action, int letter, const char *value, io_error *error) {
    switch (letter) {
    case METHOD: run->what.common.method = value; return 0;
    case MODE: run->what.common.mode = value; return 0;
    case DIR: return set_dir(run, value, error);
    case OWN_DIR: return set_own_dir(run, value, error);
    case HINT: return io_hints_add(&run->what.hints, value, error);
    case UNKNOWN_HINTS: return set_unknown_hints(run, value, error);
    case PREFIX: run->what.prefix = value; return 0;
    case FSYNC: run->what.common.fsync = true; return 0;
    case IO_GROUP: return io_parse_count("--io-group", value, &run->what.io_group, error);
    case BUFFER: return set_buffer(run, value, error);
    case COMPUTE: return set_seconds(&run->what.compute_seconds, "--compute-seconds", value, error);
    case STEPS: return io_parse_count("--steps", value, &run->what.steps, error);
    case REPEAT: return io_parse_count("--repeat", value, &run->what.common.repeats, error);
    case WRITE_ONLY: run->what.common.write_only = true; return 0;
    case READ_ONLY: run->what.common.read_only = true; return 0;
    case KEEP: run->what.common.keep = true; return 0;
    case OVERWRITE: run->what.common.overwrite = true; return 0;
    case CEILINGS: run->ceilings = true; return 0;
    case CEILING_SECONDS: return set_seconds(&run->ceiling.seconds, "--ceiling-seconds", value, error);
    case SMALL: run->ceiling.small = true; return 0;
    case DROP_CACHES: run->what.drop_caches = true; return 0;
    case NO_SPACE_CHECK: run->space_check = false; return 0;
    case SEED: return io_parse_count("--seed", value, &run->what.seed, error);
    case PATIENCE: return set_limit(&run->patience, "--patience", value, error);
    case START_LIMIT: return set_limit(&run->start_limit, "--start-limit", value, error);
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
            error, "no pattern given; usage: iokernel PATTERN --method M --dir D, with PATTERN one of %s",
            names);
    run->what.pattern = io_pattern_find(name);
    if (!run->what.pattern)
        return io_fail_usage(error, "pattern '%s' is unknown; use one of %s", name, names);
    run->what.state = calloc(1, run->what.pattern->state_size);
    if (!run->what.state) return io_fail(error, "out of memory for pattern %s", name);
    run->what.pattern->defaults(run->what.state);
    return 0;
}

/* getopt would print on every process; this prints once. */
static int bad_option(int c, char **argv, io_error *error) {
    const char *word = argv[optind - 1];
    if (c == ':') return io_fail_usage(error, "option %s needs a value; see iokernel --help", word);
    return io_fail_usage(error, "option %s is unknown; see iokernel %s --help", word, argv[1]);
}

io_run io_run_defaults(void) {
    return (io_run){
        .what = {.common = {.repeats = 1}, .prefix = "", .steps = 1, .seed = 1, .verify = true},
        .space_check = true,
        .patience = 60,
        .start_limit = 300
    };
}

int io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error) {
    struct option longs[MAX_OPTIONS] = {{0}};
    char shorts[2 * MAX_OPTIONS] = ":";
    int n = 0, c;
    *run = io_run_defaults();
    run->argc = argc;
    run->argv = argv;
    *action = IO_DO_RUN;
    bool named = argc > 1 && argv[1][0] != '-';
    if (named && choose_pattern(argv[1], run, error)) return -1;
    add_options(io_common_options, longs, &n, shorts);
    int own = n;
    io_method_options_add(longs, &n, MAX_OPTIONS);
    if (named) add_options(run->what.pattern->options, longs, &n, shorts);
    optind = named ? 2 : 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (c == '?' || c == ':') return bad_option(c, argv, error);
        int status = c >= IO_METHOD_LETTER
                         ? io_method_options_keep(run, longs[own + c - IO_METHOD_LETTER].name, optarg, error)
                     : c >= METHOD ? set_common(run, action, c, optarg, error)
                                   : run->what.pattern->option(run->what.state, c, optarg, error);
        if (status) return -1;
    }
    if (optind < argc)
        return io_fail_usage(error, "'%s' is not an option; see iokernel --help", argv[optind]);
    if (!named && (*action == IO_DO_RUN || *action == IO_DO_PLAN)) return choose_pattern(NULL, run, error);
    return 0;
}

void io_options_release(io_run *run) {
    if (run->what.state && run->what.pattern->release) run->what.pattern->release(run->what.state);
    free(run->what.state);
    free(run->what.hints.items);
    io_method_options_release(run);
}
