# SPDX-License-Identifier: BSD-3-Clause
"""Every pattern through every method: a file that was cut, or is another's, is named at once.

The matrix is what `iokernel --list` says goes together; three processes, so no power of two, and
more of them than a coarse RAMSES level has grids.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from iokernel_stacks import MODES, Run, Stack

from tests.selftest.cases import SMALL

PROCESSES = 3
METHODS = [method for method in MODES if method != "null"]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def foreign(path: Path) -> None:
    """Another's, and as long as ours: no method can tell by its size."""
    path.write_bytes(random.Random(path.name).randbytes(path.stat().st_size))


def patterns(stack: Stack, method: str) -> list[str]:
    done = stack.alone("--list", "--json", "-")
    cross = json.loads(done.stdout)["cross"]
    return [pair["pattern"] for pair in cross if pair["method"] == method and pair["ok"]]


def victim(folder: Path) -> Path:
    """The last of the data files; text files beside have another test."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".txt"]
    return max(files)


def damaged(
    stack: Stack, method: str, tmp_path: Path
) -> Iterator[tuple[str, Callable[[Path], None], Path, Run]]:
    """For each pattern and damage: the pattern's name, the damage, the damaged file, and a run that
    reads it."""
    for pattern in patterns(stack, method):
        folder = tmp_path / pattern
        folder.mkdir()
        words = [pattern, *SMALL.get(pattern, ()), "--method", method, "--dir", str(folder)]
        written = stack.run(*words, "--write-only", "--keep", processes=PROCESSES)
        assert written.status == 0, str(written)
        path = victim(folder)
        whole = path.read_bytes()
        for damage in (cut, foreign):
            path.write_bytes(whole)
            damage(path)
            document = tmp_path / f"{pattern}-{damage.__name__}.json"
            run = stack.run(*words, "--read-only", processes=PROCESSES, document=document)
            yield pattern, damage, path, run
            assert path.exists(), "--read-only removes nothing"
        shutil.rmtree(folder)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", METHODS)
def test_damaged_file(openmpi: Stack, method: str, tmp_path: Path) -> None:
    """One line that names the file and what was right for it: bytes, a mark or a value."""
    for pattern, damage, path, run in damaged(openmpi, method, tmp_path):
        what = (pattern, damage.__name__)
        line = run.error(1)  # of a run that ended by itself, soon
        assert str(path) in line, (what, line)
        assert run.result()["status"] in ("error", "failed"), str(run)
        expected = ("truncated", "expected ", "; check ", "differs from what was")
        assert any(word in line for word in expected), (what, line)
