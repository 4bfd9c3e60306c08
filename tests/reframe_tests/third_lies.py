# SPDX-License-Identifier: BSD-3-Clause
"""Lies of a third round, made like the ones of more_lies.py."""

from __future__ import annotations

from tests.reframe_tests.lie import Lie
from tests.reframe_tests.more_lies import MORE_LIES

# Of "finds the planted byte by a copy": the honest text, and the lie.
((_MOVE, _HONEST, _COPY),) = MORE_LIES["finds the planted byte by a copy"].changes
ON_THE_CLOCK = (
    "    IO_MPI(f->session->world, MPI_Barrier, f->session->world->comm);\n"
    "    f->seconds.begin[phase]"
)
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


THIRD_LIES = {
    "finds the planted byte by a copy, in runs with several repeats": Lie(
        (
            (
                _MOVE,
                _HONEST,
                (
                    "    if (f->session->what->common.repeats > 1) {\n"
                    f"{_COPY}    }} else {{\n{_HONEST}    }}\n"
                ),
            ),
        ),
        "do not notice a wrong byte in each repeat of a run",
    ),
    "the same value for 127 of 128 words": Lie(
        (
            (
                "driver/values.c",
                "source_of_repeat(uint64_t number, uint64_t repeated) {\n",
                "source_of_repeat(uint64_t number, uint64_t repeated) {\n    repeated = 127;\n",
            ),
            (
                "driver/values.c",
                "    uint64_t at = first % IO_REPEAT_GROUP, distinct",
                "    repeated = 127;\n    uint64_t at = first % IO_REPEAT_GROUP, distinct",
            ),
        ),
        "values do not depend on place and seed",
    ),
    "the same values in each session": Lie(
        (("driver/move.c", "    return c->seed + (c->write", "    return 7 + (c->write"),),
        "values do not depend on place and seed",
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
    "ceilings that are flushed at each call": opened_slowly("iogauge-ceiling"),
    "direct writing that is flushed at each call": opened_slowly(
        "iogauge-direct", "ioserver:posix", "Paio"
    ),
    "native representation called external32": Lie(
        (
            (
                "methods/mpiio.c",
                'IO_EXTERNAL32 ? "external32" : "native"',
                'IO_EXTERNAL32 ? "native" : "native"',
            ),
        ),
        "mode external32: expected file views",
        "mpiio:external32",
    ),
    "half of the calls": Lie(
        (
            (
                "report/samples.c",
                '(json_int_t)s->calls[direction], "phases"',
                '(json_int_t)s->calls[direction] / 2, "phases"',
            ),
        ),
        "calls, the result says at most",
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
}
