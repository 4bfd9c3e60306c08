# SPDX-License-Identifier: BSD-3-Clause
"""The documentation's table of patterns x methods: current, and made right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack

from tools import cross_table

FOUND: dict[str, Any] = {
    "patterns": [{"name": "a"}, {"name": "b"}],
    "methods": [
        {"name": "posix", "available": True, "reason": None},
        {"name": "hdf5", "available": True, "reason": None},
    ],
    "cross": [
        {"pattern": "a", "method": "posix", "ok": True, "reason": None},
        {"pattern": "a", "method": "hdf5", "ok": False, "reason": "no room"},
        {"pattern": "b", "method": "posix", "ok": False, "reason": "no room"},
        {"pattern": "b", "method": "hdf5", "ok": False, "reason": "no mesh"},
    ],
}
TABLE = """\
| pattern | posix | hdf5 |
| --- | --- | --- |
| a | yes | no (1) |
| b | no (1) | no (2) |

1. no room
2. no mesh"""


def test_page_is_current(openmpi: Stack) -> None:
    """`openmpi` skips by name where the stack is not installed."""
    assert cross_table.main(["--check", "--program", str(openmpi.iokernel)]) == 0
    listed = cross_table.listing(openmpi.iokernel)
    lines = cross_table.PAGE.read_text().splitlines()
    rows = [line for line in lines if "| yes |" in line or "| no (" in line]
    assert len(rows) == len(listed["patterns"])


def test_each_reason_stands_once() -> None:
    assert cross_table.table(FOUND) == TABLE


def test_a_method_that_the_program_lacks_stays_as_the_page_has_it() -> None:
    page = f"before\n{cross_table.BEGIN}\n{TABLE}\n{cross_table.END}\n"
    hdf5 = {"name": "hdf5", "available": False, "reason": "built without HDF5"}
    cross = [pair for pair in FOUND["cross"] if pair["method"] == "posix"]
    found = {**FOUND, "methods": [FOUND["methods"][0], hdf5], "cross": cross}
    assert cross_table.table(cross_table.completed(found, page)) == TABLE
    with pytest.raises(cross_table.NoTable, match="built without HDF5, and the page has no column"):
        cross_table.completed(found, page.replace("hdf5", "other"))


def test_only_the_table_changes(
    openmpi: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    real = cross_table.PAGE.read_text().partition(cross_table.BEGIN)[2]
    table = real.partition(cross_table.END)[0].replace("| s3d | yes ", "| s3d | old ")
    page.write_text(f"before\n{cross_table.BEGIN}{table}{cross_table.END}\nafter\n")
    words = ["--program", str(openmpi.iokernel), "--page", str(page)]
    assert cross_table.main(["--check", *words]) == 1
    assert "--write" in capsys.readouterr().err
    assert cross_table.main(["--write", *words]) == 0
    assert cross_table.main(["--check", *words]) == 0
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after") and "old" not in lines


@pytest.mark.slow
def test_what_cannot_be(poor: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program and a page that lack a method, no program, a page without the place for it."""
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    words = ["--check", "--page", str(page)]
    assert cross_table.main([*words, "--program", str(poor.iokernel)]) == 2
    assert "parallel HDF5" in capsys.readouterr().err
    assert cross_table.main(["--check", "--program", "/no/such/iokernel"]) == 2
    assert "/no/such/iokernel" in capsys.readouterr().err
    with pytest.raises(cross_table.NoTable, match="one of each"):
        cross_table.put(page.read_text(), "x")
