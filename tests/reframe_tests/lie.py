# SPDX-License-Identifier: BSD-3-Clause
"""A patch that makes the kernels lie, and what contradicts it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lie:
    """`changes`: of the kernels' sources: file, text, text in its place. `call`: of the session's
    run. `witness`: in the reason of the failure. `where`: the tag of its file system; `more`:
    options of the session. `test`: the class, in the module of the same name."""

    changes: tuple[tuple[str, str, str], ...]
    witness: str
    call: str = "posix"
    where: str = "ram"
    more: tuple[str, ...] = ()
    test: str = "S3d"
