# SPDX-License-Identifier: BSD-3-Clause
"""Figures that are computed after the run."""

from __future__ import annotations

from tests.reframe_tests.lies.lie import Lie

CREATED = "rate_of(r, i, IO_OP_CREATE);"
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

LIES = {
    "twice the rate of creating files": Lie(
        (("report/report.c", CREATED, f"2 * {CREATED}"),),
        "summary.create_rate",
        test="Metadata",
    ),
    "half of the peak memory": Lie(
        (("run/run.c", "usage.ru_maxrss * 1024", "usage.ru_maxrss * 512"),),
        "memory.peak_rss is",
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
    "slow calls said to be like others": Lie(
        (
            (
                "driver/latency.c",
                "double ns = seconds * 1e9;",
                "double ns = seconds * 1e9 > 2000 ? 2000 : seconds * 1e9;",
            ),
        ),
        "write: a call took",
    ),
    "a tenth of each percentile": Lie(
        (("driver/latency.c", ": h->max_value) * NANO;", ": h->max_value) * NANO / 10;"),),
        "by their percentiles",
    ),
    "the best repeat called the median": Lie(
        (
            (
                "report/report.c",
                "return (r->scratch[(n - 1) / 2] + r->scratch[n / 2]) / 2;",
                "return r->scratch[n - 1];",
            ),
        ),
        "the median of the samples",
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
    "two nodes said": Lie(
        (("report/document.c", 'r->world->job_nodes, "hosts"', '2, "hosts"'),),
        "system.nodes is 2",
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
}
