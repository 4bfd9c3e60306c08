# SPDX-License-Identifier: BSD-3-Clause
"""Lies of a fifth round, about numbers that people act on, thought up from the checks."""

from __future__ import annotations

from tests.reframe_tests.lie import Lie

MPIIO = "methods/mpiio.c"
GIVEN = "amode, ctx->info, &f->handle)"
NOT_GIVEN = (MPIIO, GIVEN, GIVEN.replace("ctx->info", "MPI_INFO_NULL"))
HINTED = ("-S", "hints=cb_buffer_size=1048576")
CREATE = "    now_at(f, IO_AT_CREATE);\n"
SLOW_ONCE = f"{CREATE}    if (f->session->found && !f->session->repeat) usleep(300000);\n"
DONE = "        w->report.done++;\n    }\n"
# Each repeat gets the means of all.
MEANS = f"""\
{DONE}\
    double n = (double)w->report.done;
    for (int p = 0; p < IO_PHASES; p++) {{
        io_time all = {{0}};
        double elapsed = 0;
        for (io_sample *s = w->samples; s < w->samples + w->report.done; s++) {{
            all.min += s->phase[p].min / n;
            all.mean += s->phase[p].mean / n;
            all.max += s->phase[p].max / n;
            elapsed += s->elapsed[p] / n;
        }}
        for (io_sample *s = w->samples; s < w->samples + w->report.done; s++)
            s->phase[p] = all, s->elapsed[p] = elapsed;
    }}
    for (io_sample *s = w->samples; s < w->samples + w->report.done; s++)
        for (int d = 0; d < IO_DIRECTIONS; d++) {{
            s->seconds[d] = 0;
            for (int p = 0; p < IO_PHASES; p++)
                if (io_phases[p].direction == d) s->seconds[d] += s->phase[p].max;
            s->bandwidth[d] = (double)w->report.bytes / s->seconds[d] / 1048576;
        }}
"""
OPENED = "    *file = &f->base;\n"
CEILING = 'writing && strstr(file->base.path, "iogauge-ceiling")'
WROTE = "        bytes -= (uint64_t)n;\n"

FIFTH_LIES = {
    "a tenth of each percentile": Lie(
        (("driver/latency.c", ": h->max_value) * NANO;", ": h->max_value) * NANO / 10;"),),
        "by their percentiles",
    ),
    "a hint in force, called ignored": Lie(
        (
            ("report/document_hints.c", "!own && !json_equal(", "!own && (1 || !json_equal("),
            (
                "report/document_hints.c",
                "json_object_get(used, key), value))",
                "json_object_get(used, key), value)))",
            ),
        ),
        "is listed as ignored, but MPI",
        "mpiio:collective",
        more=HINTED,
    ),
    "a hint not given, called ignored": Lie(
        (NOT_GIVEN,),
        "hint cb_buffer_size=1048576, write: expected",
        "mpiio:collective",
        more=HINTED,
    ),
    "a hint not given, called one of the environment": Lie(
        (
            NOT_GIVEN,
            (
                "report/document_hints.c",
                "given->items[i].value, NULL);",
                'given->items[i].value, "ROMIO_HINTS");',
            ),
        ),
        "asked.hints_environment.cb_buffer_size is",
        "mpiio:collective",
        more=HINTED,
    ),
    "another host called slow": Lie(
        (
            (
                "driver/latency.c",
                "gethostname(slowest.host, sizeof slowest.host - 1);",
                "gethostname(slowest.host, sizeof slowest.host - 1), slowest.host[0] ^= 1;",
            ),
        ),
        "the slowest process",
    ),
    "twice the processes of a node": Lie(
        (
            (
                "report/document.c",
                '"processes_per_node", r->world->job_per_node,',
                '"processes_per_node", 2 * r->world->job_per_node,',
            ),
        ),
        "system.processes_per_node is",
    ),
    "a newer HDF5": Lie(
        (
            (
                "methods/hdf5.c",
                "H5get_libversion(&major, &minor, &release_);",
                "H5get_libversion(&major, &minor, &release_), minor += 2;",
            ),
        ),
        "libraries.hdf5 is",
    ),
    "the means of all repeats as each one's": Lie(
        (
            ("driver/driver.c", CREATE, SLOW_ONCE),
            (
                "driver/driver.c",
                "#include <string.h>\n",
                "#include <string.h>\n#include <unistd.h>\n",
            ),
            ("run/run.c", DONE, MEANS),
            (
                "run/run.c",
                '#include "driver/run_files.h"\n',
                '#include "driver/run_files.h"\n#include "driver/times.h"\n',
            ),
        ),
        "but its phases were",
    ),
    "fsync before the data, by MPI": Lie(
        (
            (MPIIO, "MPI_File_sync(((mpiio_file *)file)->handle);", "MPI_SUCCESS;"),
            (
                MPIIO,
                OPENED,
                f"{OPENED}    if (amode & MPI_MODE_CREATE) MPI_File_sync(f->handle);\n",
            ),
        ),
        "fsync: expected after writing",
        "mpiio:collective",
        more=("-S", "fsync=yes"),
    ),
    "ceilings with an fsync behind each call": Lie(
        (
            (
                "methods/posix_file.c",
                WROTE,
                f"{WROTE}        if ({CEILING}) fsync(file->fd);\n",
            ),
            (
                "methods/posix_file.c",
                "#include <fcntl.h>\n",
                "#include <fcntl.h>\n#include <string.h>\n",
            ),
        ),
        "ceilings (fpp): expected 0 fsyncs",
        more=("-S", "fsync=no"),
    ),
    "ceilings read from storage, the run from memory": Lie(
        (("driver/ceilings.c", "what.write = true;", "what.drop_caches = what.write = true;"),),
        "the ceilings were read from storage",
        where="disk",
        more=("-S", "drop_caches=false"),
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
    "half of the peak memory, with I/O processes": Lie(
        (
            ("run/run.c", "usage.ru_maxrss * 1024", "usage.ru_maxrss * 512"),
            ("methods/ioserver_serve.c", "usage.ru_maxrss * 1024", "usage.ru_maxrss * 512"),
        ),
        "memory.peak_rss is",
        "ioserver:posix",
        test="Paio",
    ),
}
