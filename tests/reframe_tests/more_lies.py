# SPDX-License-Identifier: BSD-3-Clause
"""More lies for test_attackers.py: thought up from the kernels alone, before the author had read
the checks."""

from __future__ import annotations

from tests.reframe_tests.lie import Lie

MORE_LIES = {
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
    "ceilings of one process after the other": Lie(
        (
            (
                "driver/ceilings.c",
                "what.io_group = 0;",
                "what.io_group = (uint64_t)session->world->size;",
            ),
        ),
        "expected no messages meanwhile",
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
    "files removed off the clock": Lie(
        (
            (
                "driver/series.c",
                "int status = call(path);",
                "int status = call == unlink ? 0 : call(path);",
            ),
        ),
        "remove: took at least",
        test="Metadata",
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
    "half of the peak memory": Lie(
        (("run/run.c", "usage.ru_maxrss * 1024", "usage.ru_maxrss * 512"),),
        "memory.peak_rss is",
    ),
    "finds the planted byte by a copy": Lie(
        (
            (
                "driver/move.c",
                (
                    "    if (iogauge_plant)\n"
                    "        iogauge_plant(f->session->repeat, f->step, f->bytes_each * f->files,\n"
                    "                      f->number * f->bytes_each + part->offset, "
                    "part->data, io_part_bytes(&f->schema, part));\n"
                    "    io_verify_part(f->session->found, part, facts, f->file, seed_of(f), "
                    "f->step);\n"
                ),
                (
                    "    uint64_t all = io_part_bytes(&f->schema, part);\n"
                    "    char *copy = malloc(all + 1);\n"
                    "    memcpy(copy, part->data, all);\n"
                    "    if (iogauge_plant)\n"
                    "        iogauge_plant(f->session->repeat, f->step, f->bytes_each * f->files,\n"
                    "                      f->number * f->bytes_each + part->offset, "
                    "part->data, all);\n"
                    "    for (uint64_t i = 0; i < all; i++)\n"
                    "        if (copy[i] != ((char *)part->data)[i]) iogauge_take_back((char "
                    "*)part->data + i, 1);\n"
                    "    free(copy);\n"
                    "    f->session->found->check.bytes += all;\n"
                    "    f->session->found->check.elements += all / "
                    "io_type_size(f->schema.datasets[part->dataset].type);\n"
                ),
            ),
        ),
        "do not notice a wrong byte",
    ),
    "master, called posix-shared": Lie(
        (
            ("methods/master.c", '.name = "master"', '.name = "posix-shared"'),
            ("methods/posix_shared.c", '.name = "posix-shared"', '.name = "master"'),
            (
                "methods/methods.def",
                'IO_METHOD(posix_shared, "posix-shared"',
                'IO_METHOD(master, "posix-shared"',
            ),
            (
                "methods/methods.def",
                'IO_METHOD(master, "master"',
                'IO_METHOD(posix_shared, "master"',
            ),
        ),
        "expected data written by each process",
        "posix-shared",
    ),
}
