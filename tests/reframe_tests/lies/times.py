# SPDX-License-Identifier: BSD-3-Clause
"""What took how long, and from where it was read."""

from __future__ import annotations

from tests.reframe_tests.lies.lie import Lie

TIMED = "f->seconds.phase[phase] += io_step_clock(f) - f->began;"
SHORT = '"co"'  # create, close, open
DROP = "if (s->what->drop_caches) {"
ON_THE_CLOCK = (
    "    IO_MPI(f->session->world, MPI_Barrier, f->session->world->comm);\n"
    "    f->seconds.begin[phase]"
)
MPIIO = "methods/mpiio.c"
MPI_OPENED = "    *file = &f->base;\n"

LIES = {
    "opens and closes take no time": Lie(
        (("driver/driver.c", TIMED, f"if (!strchr({SHORT}, io_phases[phase].name[0])) {TIMED}"),),
        "write: another clock says",
        "mpiio:collective",
    ),
    "the drain takes no time": Lie(
        (
            (
                "driver/servers.c",
                ("= io_monotonic_seconds() - began;\n    mine->end"),
                ("= 0 * (io_monotonic_seconds() - began);\n    mine->end"),
            ),
        ),
        "another clock says",
        "ioserver:posix",
        test="Paio",
    ),
    "the first step's time for all": Lie(
        (
            (
                "driver/driver.c",
                "    io_add_times(f->session, sample, &f->seconds, direction);",
                (
                    "    for (int p = 0; f->step && p < IO_PHASES; p++) f->seconds.phase[p] = 0;\n"
                    "    if (f->step) f->seconds.waited = 0;\n"
                    "    io_add_times(f->session, sample, &f->seconds, direction);"
                ),
            ),
        ),
        "another clock says",
    ),
    "the best of three repeats": Lie(
        (
            (
                "run/run.c",
                "        if (io_measure(&w->session, &w->samples[i])) return -1;\n",
                (
                    "        io_found *fo = &w->found;\n"
                    "        uint64_t n0 = fo->nspans, kept_n = 0;\n"
                    "        io_span kept[64];\n"
                    "        for (int k = 0; k < 3; k++) {\n"
                    "            io_sample one;\n"
                    "            io_found b = *fo;\n"
                    "            fo->nspans = n0;\n"
                    "            if (io_measure(&w->session, &one)) return -1;\n"
                    "            if (k < 2) {\n"
                    "                fo->check = b.check;\n"
                    "                fo->file_count = b.file_count;\n"
                    "                fo->file_bytes = b.file_bytes;\n"
                    "                fo->resident = b.resident;\n"
                    "                fo->cached_bytes = b.cached_bytes;\n"
                    "                if (!i) json_array_clear(fo->files);\n"
                    "            }\n"
                    "            if (!k || one.seconds[0] < w->samples[i].seconds[0]) {\n"
                    "                w->samples[i] = one;\n"
                    "                kept_n = fo->nspans - n0;\n"
                    "                memcpy(kept, fo->spans + n0, kept_n * sizeof *kept);\n"
                    "            }\n"
                    "        }\n"
                    "        memcpy(fo->spans + n0, kept, kept_n * sizeof *kept);\n"
                    "        fo->nspans = n0 + kept_n;\n"
                ),
            ),
        ),
        "the byte ledger does not add up",
    ),
    "reads from memory, called dropped": Lie(
        (
            ("driver/run_files.c", DROP, "if (s->what->drop_caches && !s->found) {"),
            ("driver/run_files.c", "resident += resident;", "resident += 0 * resident;"),
        ),
        "caches are said to be 'dropped'",
        where="disk",
    ),
    "reads ahead before the clock starts": Lie(
        (
            (
                "driver/run_files.c",
                "    if (s->found) each_cached_file(s, look_at_cache);\n",
                (
                    "    if (s->found) each_cached_file(s, look_at_cache);\n"
                    "    each_cached_file(s, warm_up);\n"
                    "    MPI_Barrier(s->world->comm);\n"
                ),
            ),
            (
                "driver/run_files.c",
                "void io_drop_caches(io_session *s) {",
                (
                    "#include <sys/syscall.h>\n"
                    "static void warm_up(io_session *s, const char *path) {\n"
                    "    (void)s;\n"
                    "    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);\n"
                    "    posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);\n"
                    "    usleep(50000);\n"
                    "    syscall(SYS_close, fd);\n"
                    "}\n"
                    "void io_drop_caches(io_session *s) {"
                ),
            ),
        ),
        "read from storage",
        where="disk",
    ),
    "files allocated before the clock starts": Lie(
        (
            (
                "driver/driver.c",
                ON_THE_CLOCK,
                (
                    "    if (phase == IO_PHASE_CREATE && f->session->found) {\n"
                    "        int fd = open(f->path, O_CREAT | O_WRONLY, 0666);\n"
                    "        if (!posix_fallocate(fd, 0, (off_t)f->bytes_each)) close(fd);\n"
                    "    }\n" + ON_THE_CLOCK
                ),
            ),
            (
                "driver/driver.c",
                "#include <string.h>\n",
                "#include <string.h>\n#include <fcntl.h>\n#include <unistd.h>\n",
            ),
            ("methods/posix.c", "O_CREAT | O_TRUNC | O_WRONLY", "O_CREAT | O_WRONLY"),
        ),
        "a file had data before it was created",
    ),
    "fsync said, not called": Lie(
        (("methods/posix_file.c", "if (fsync(", "if (!file && fsync("),),
        "fsync is claimed for 2 repeats",
        more=("-S", "fsync=yes"),
    ),
    "I/O processes do not sync": Lie(
        (
            (
                "methods/ioserver_serve.c",
                "if (f->sync && inner->sync(f->file)) return -1;",
                "if (f->sync && !inner->sync) return -1;",
            ),
        ),
        "fsync is claimed for 2 repeats",
        "ioserver:posix",
        more=("-S", "fsync=yes"),
        test="Paio",
    ),
    "fsync before the data": Lie(
        (
            (
                "methods/posix_file.c",
                "    *file = &f->base;\n    return 0;\n}\n\nint io_posix_cut",
                (
                    "    if (flags & O_WRONLY) fsync(f->fd);\n"
                    "    *file = &f->base;\n    return 0;\n}\n\nint io_posix_cut"
                ),
            ),
            ("methods/posix_file.c", "if (fsync(", "if (!file && fsync("),
        ),
        "fsync: expected after writing",
        more=("-S", "fsync=yes"),
    ),
    "fsync before the data, by MPI": Lie(
        (
            (MPIIO, "MPI_File_sync(((mpiio_file *)file)->handle);", "MPI_SUCCESS;"),
            (
                MPIIO,
                MPI_OPENED,
                f"{MPI_OPENED}    if (amode & MPI_MODE_CREATE) MPI_File_sync(f->handle);\n",
            ),
        ),
        "fsync: expected after writing",
        "mpiio:collective",
        more=("-S", "fsync=yes"),
    ),
    "files removed off the clock": Lie(
        (
            (
                "driver/series.c",
                "int status = call(path);",
                "int status = call == unlink ? 0 : call(path);",
            ),
            ("driver/series.c", "    s->removed = true;\n", ""),
        ),
        "remove: took at least",
        test="Metadata",
    ),
    "files after the first of each process take no time": Lie(
        (
            (
                "driver/driver.c",
                "f->seconds.phase[which] += io_step_clock(f) - began;\n    return status;",
                "f->seconds.phase[which] += 0 * (io_step_clock(f) - began);\n    return status;",
            ),
        ),
        "create: took at least",
        "posix%scale=laptop%files=1000",
        test="Metadata",
        scale="laptop",
    ),
    "the first file looked up for all": Lie(
        (
            (
                "driver/series.c",
                "int status = call(path);",
                (
                    "if (call == look_up) io_file_path(s, step, owner, 0, path);\n"
                    "        int status = call(path);"
                ),
            ),
        ),
        "stat: expected",
        test="Metadata",
    ),
    "half of the seconds of reading folders": Lie(
        (
            (
                "driver/series.c",
                "closedir(folder);\n    *seconds += io_monotonic_seconds() - began;",
                "closedir(folder);\n    *seconds += (io_monotonic_seconds() - began) / 2;",
            ),
        ),
        "readdir: took at least",
        test="Metadata",
    ),
    "reads a folder in the first repeat only": Lie(
        (
            (
                "driver/series.c",
                "    DIR *folder = opendir(path);\n",
                (
                    "    static uint64_t had;\n"
                    "    static double took;\n"
                    "    if (had) {\n"
                    "        *entries = had, *seconds += took;\n"
                    "        return 0;\n"
                    "    }\n"
                    "    DIR *folder = opendir(path);\n"
                ),
            ),
            (
                "driver/series.c",
                '    return failed ? io_fail_errno(&s->world->error, "readdir"',
                (
                    "    had = *entries, took = *seconds;\n"
                    '    return failed ? io_fail_errno(&s->world->error, "readdir"'
                ),
            ),
        ),
        "readdir: expected",
        test="Metadata",
    ),
}
