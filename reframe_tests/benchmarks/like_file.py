# SPDX-License-Identifier: BSD-3-Clause
"""A file like one that the user has, with computed values, through every method.

-S LikeFile.file=FILE      NetCDF, HDF5, or the text of ncdump -h
"""

import shlex
from math import prod
from pathlib import Path

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from iogauge.analysis.file_import import document, files, maps
from reframe_tests.framework.planned import Planned
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, scales

DOCUMENT = "file.like"


@benchmark
class LikeFile(Planned):
    """Listed only if a file is given. `length`: of dimensions (`time:1`); `leave_out`: names;
    `grid`: processes along the last dimensions of the largest variable (`4x4x2`); `lists`: a
    decomposition map for a dimension (`ncol:FILE`), or several (`lev+ncol:FILE`);
    `compressibility`: from 0 to 1."""

    descr = "a file like the user's"
    pattern = "file"
    file = variable(str, value="", loggable=True)
    length = variable(typ.Dict[str, int], value={}, loggable=True)
    leave_out = variable(typ.List[str], value=[], loggable=True)
    lists = variable(typ.Dict[str, str], value={}, loggable=True)
    grid = variable(str, value="", loggable=True)
    compressibility = variable(float, value=0.0, loggable=True)
    call = axis(calls.names())
    scales = {"file": scales.Scale()}
    scale = axis(["file"])

    kept = DOCUMENT
    made: document.Like | None = None

    @property
    def given(self) -> str:
        return str(self.file)

    def in_quick(self) -> bool:
        return bool(self.is_quick())

    def scale_processes(self) -> int | None:
        self.plan_once()
        if self.grid:
            return prod(int(n) for n in self.grid.split("x") if n.isdecimal())
        if self.made and self.made.maps:
            return len(next(iter(self.made.maps.values())))
        if self.made and self.made.lists:
            return prod(len(runs) for runs in self.made.lists.values())
        return None

    def plan(self, to: Path) -> document.Like:
        like = files.load(Path(self.file))
        document.narrow(like, [], list(self.leave_out))
        document.resize(like, dict(self.length))
        maps.take(like, {name.replace("+", ","): path for name, path in self.lists.items()})
        document.check(like)
        document.write(like, to)
        return like

    def pattern_options(self) -> list[str]:
        return [
            f'--like "$PWD/{DOCUMENT}"',
            f"--compressibility {self.compressibility:g}",
            *([f"--procs-grid {shlex.quote(self.grid)}"] if self.grid else []),
        ]

    def payload_bytes(self) -> int:
        return self.made.bytes() * self.dumps if self.made else 0
