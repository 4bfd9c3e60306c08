# SPDX-License-Identifier: BSD-3-Clause
"""The practical peak: ceilings, and direct writing beside I/O processes."""

from __future__ import annotations

from tests.reframe_tests.lies.lie import Lie

SAID = '"write", c->bandwidth[IO_WRITING], "read", c->bandwidth[IO_READING],'
OPEN = "open(path, flags | O_CLOEXEC, 0666)"
STRING = (
    "methods/posix_file.c",
    "#include <fcntl.h>\n",
    "#include <fcntl.h>\n#include <string.h>\n",
)


def opened_slowly(name: str, call: str = "posix", test: str = "S3d") -> Lie:
    slow = OPEN.replace("O_CLOEXEC", f'O_CLOEXEC | (strstr(path, "{name}") ? O_DSYNC : 0)')
    change = ("methods/posix_file.c", OPEN, slow)
    return Lie((change, STRING), "opened with O_DIRECT or O_DSYNC", call, "disk", test=test)


WROTE = "        bytes -= (uint64_t)n;\n"
CEILING = 'writing && strstr(file->base.path, "iogauge-ceiling")'

LIES = {
    "ceilings of 4 KiB calls": Lie(
        (("driver/ceilings.c", "((uint64_t)8 << 20)", "((uint64_t)4 << 10)"),),
        "ceilings (fpp): expected at most",
    ),
    "ceilings that are a million times slower": Lie(
        (("report/samples.c", SAID, SAID.replace("IO_WRITING]", "IO_WRITING] / 1e6")),),
        "summary.write_fraction_fpp",
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
    "ceilings that are flushed at each call": opened_slowly("iogauge-ceiling"),
    "ceilings with an fsync behind each call": Lie(
        (
            (
                "methods/posix_file.c",
                WROTE,
                f"{WROTE}        if ({CEILING}) fsync(file->fd);\n",
            ),
            STRING,
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
    "direct writing that is flushed at each call": opened_slowly(
        "iogauge-direct", "ioserver:posix", "Paio"
    ),
    "ten times the small accesses": Lie(
        (
            (
                "report/samples.c",
                "double each = 1048576.0 / IO_SMALL;",
                "double each = 10 * 1048576.0 / IO_SMALL;",
            ),
        ),
        "ceilings (small)",
        test="Peak",
    ),
}
