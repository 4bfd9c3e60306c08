/* SPDX-License-Identifier: BSD-3-Clause */
#include "compat/s3d_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"

#define DUMPS 5 /* i_time_end of S3D-IO's param_m.f90 */
#define ARRAYS 4

/* Totals of reading the restart file and of writing, for the summary. */
typedef struct {
    double open, read, write, close; /* seconds */
    double read_bytes, write_bytes;
    uint64_t reads, writes; /* calls per process */
    MPI_Info used;          /* of the first dump, or MPI_INFO_NULL */
} totals;

static const char usage[] = "Usage: s3d_io.x nx_g ny_g nz_g npx npy npz method restart dir_path "
                            "(method: 0 blocking, 1 nonblocking PnetCDF; restart: T or F)";

int io_s3d_io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error) {
    if (argc != 10) {
        *run = io_run_defaults();
        return io_fail_usage(error, "%s", usage);
    }
    char grid[96], procs[96], steps[8];
    snprintf(grid, sizeof grid, "%.30sx%.30sx%.30s", argv[1], argv[2], argv[3]);
    snprintf(procs, sizeof procs, "%.30sx%.30sx%.30s", argv[4], argv[5], argv[6]);
    snprintf(steps, sizeof steps, "%d", DUMPS);
    bool blocking = !strcmp(argv[7], "0");
    if (!blocking && strcmp(argv[7], "1")) {
        *run = io_run_defaults();
        return io_fail_usage(error, "method '%s': expected 0 or 1. %s", argv[7], usage);
    }
    char word = argv[8][argv[8][0] == '.'];
    if (!word || !strchr("TtFf", word)) {
        *run = io_run_defaults();
        return io_fail_usage(error, "restart '%s': expected T or F. %s", argv[8], usage);
    }
    /* The hints that S3D-IO sets itself (set_io_hints, since 2019-07-21). */
    char *words[] = {argv[0],
                     "s3d",
                     "--grid",
                     grid,
                     "--procs-grid",
                     procs,
                     "--method",
                     "pnetcdf",
                     "--mode",
                     blocking ? "collective" : "nonblocking",
                     "--dir",
                     argv[9],
                     "--steps",
                     steps,
                     "--keep",
                     "--overwrite",
                     "--write-only",
                     "--unknown-hints",
                     "pass",
                     "--hint",
                     "nc_var_align_size=1",
                     "--hint",
                     "nc_in_place_swap=enable",
                     NULL};
    int status = io_options((int)(sizeof words / sizeof *words) - 1, words, run, action, error);
    run->argc = argc;
    run->argv = argv;
    return status;
}

static bool wants_restart(const io_run *run) {
    const char *word = run->argv[8] + (run->argv[8][0] == '.');
    return *word == 'T' || *word == 't';
}

static double phase(const io_report *r, io_phase p) { return r->samples[0].phase[p].max; }

static void add(const io_report *r, void *to) {
    totals *t = to;
    t->open += phase(r, IO_PHASE_CREATE) + phase(r, IO_PHASE_OPEN);
    t->write += phase(r, IO_PHASE_DEFINE) + phase(r, IO_PHASE_WRITE); /* as S3D-IO does */
    t->read += phase(r, IO_PHASE_READ_DEFINE) + phase(r, IO_PHASE_READ);
    t->close += phase(r, IO_PHASE_CLOSE) + phase(r, IO_PHASE_READ_CLOSE);
    if (r->run->what.write)
        t->write_bytes += (double)r->bytes, t->writes += ARRAYS * r->run->what.steps;
    else
        t->read_bytes += (double)r->bytes, t->reads += ARRAYS;
    if (r->run->what.write && t->used == MPI_INFO_NULL && r->found->hints != MPI_INFO_NULL)
        IO_MPI(r->world, MPI_Info_dup, r->found->hints, &t->used);
}

/* `---- MPI file info used ----`: every hint of the library, with S3D-IO's exact formatting. */
static void print_hints(const io_world *world, MPI_Info used) {
    int n = 0, there;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    printf(" ---- MPI file info used ----\n");
    IO_MPI(world, MPI_Info_get_nkeys, used, &n);
    for (int i = 0; i < n; i++) {
        IO_MPI(world, MPI_Info_get_nthkey, used, i, key);
        IO_MPI(world, MPI_Info_get, used, key, MPI_MAX_INFO_VAL, value, &there);
        while (there && *value && value[strlen(value) - 1] == ' ') value[strlen(value) - 1] = 0;
        if (there) printf("    %32.32s = %s\n", key, value);
    }
    printf("\n");
}

/* 0 if the library reports none, as in S3D-IO. */
static int hint_number(const io_world *world, MPI_Info used, const char *key) {
    char value[MPI_MAX_INFO_VAL + 1];
    int there = 0;
    if (used != MPI_INFO_NULL) IO_MPI(world, MPI_Info_get, used, key, MPI_MAX_INFO_VAL, value, &there);
    return there ? atoi(value) : 0;
}

/* S3D-IO's summary, with its exact formatting. */
static void print(const io_run *run, const io_world *world, const totals *t) {
    double all = t->read_bytes + t->write_bytes, time = t->open + t->read + t->write + t->close;
    const double MiB = 1048576, GiB = 1073741824;
    if (t->used != MPI_INFO_NULL) print_hints(world, t->used);
    printf(" ++++ I/O is done through PnetCDF ++++\n");
    printf(" I/O method          : %s APIs\n", run->what.mode == IO_NONBLOCKING ? "nonblocking" : "blocking");
    printf(" Run with restart    : %s\n", wants_restart(run) ? "True" : "False");
    printf(" No. MPI processes   : %7d\n", world->size);
    printf(" Global array size   : %7s x%7s x%7s\n", run->argv[1], run->argv[2], run->argv[3]);
    printf(" output file path    : %s\n", run->what.common.dir);
    printf(" file striping count : %7d\n", hint_number(world, t->used, "striping_factor"));
    printf(" file striping size  : %7d bytes\n", hint_number(world, t->used, "striping_unit"));
    printf(" -----------------------------------------------\n");
    printf(" Time for open       :  %10.2f sec\n", t->open);
    printf(" Time for read       :  %10.2f sec\n", t->read);
    printf(" Time for write      :  %10.2f sec\n", t->write);
    printf(" Time for close      :  %10.2f sec\n", t->close);
    printf(" no. read  calls     :  %7" PRIu64 "    per process\n", t->reads);
    printf(" no. write calls     :  %7" PRIu64 "    per process\n", t->writes);
    printf(" total read  amount  :  %10.2f GiB\n", t->read_bytes / GiB);
    printf(" total write amount  :  %10.2f GiB\n", t->write_bytes / GiB);
    printf(" read  bandwidth     :  %10.2f MiB/s\n", t->read > 0 ? t->read_bytes / t->read / MiB : 0);
    printf(" write bandwidth     :  %10.2f MiB/s\n", t->write > 0 ? t->write_bytes / t->write / MiB : 0);
    printf(" -----------------------------------------------\n");
    printf(" total I/O   amount  :  %10.2f GiB\n", all / GiB);
    printf(" total I/O   time    :  %10.2f sec\n", time);
    printf(" I/O   bandwidth     :  %10.2f MiB/s\n", time > 0 ? all / time / MiB : 0);
}

/* As in S3D-IO, a missing restart file is reported and skipped. */
static bool restart_file_there(const io_run *run, io_world *world) {
    char name[256], path[IO_MAX_PATH + 256];
    int there;
    run->what.pattern->file_name(run->what.state, 0, run->what.method->extension, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", run->what.common.dir, name);
    there = world->rank == 0 && access(path, R_OK) == 0;
    IO_MPI(world, MPI_Bcast, &there, 1, MPI_INT, 0, world->comm);
    if (!there && world->rank == 0)
        printf(" restart file does not exist %s\n skip reading restart files\n", path);
    return there;
}

int io_s3d_io_run(io_run *run, io_world *world) {
    totals t = {.used = MPI_INFO_NULL};
    if (wants_restart(run) && restart_file_there(run, world)) {
        io_run restart = *run;
        restart.what.write = restart.what.verify = false;
        restart.what.read = true;
        restart.what.steps = 1;
        if (io_run_all(&restart, world, add, &t)) return 1;
    }
    int status = io_run_all(run, world, add, &t);
    if (!status && world->rank == 0) print(run, world, &t);
    if (t.used != MPI_INFO_NULL) MPI_Info_free(&t.used);
    if (status) return 1;
    return fflush(stdout) ? 1 : 0;
}
