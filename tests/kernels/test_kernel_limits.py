# SPDX-License-Identifier: BSD-3-Clause
"""Files that kernels read: what is at a limit is taken, what is behind it is refused, with the
reason. Without a run. For schedules: kernels/tests/unit_schedule.c."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack
from test_kernel_extents import HALVES, write
from test_kernel_file import DIM, NEW, ONE

Change = dict[str, Any]
WIDE = [{"name": "x", "length": 2**48}, {"name": "y", "length": 2**11}]
MEMBER = {"name": "m", "type": "int8", "shape": [4096]}
NUMBER = {"name": "a", "type": "int16"}
MESH = {**ONE, "role": "field", "node": 32 * "n", "zone": 0}
# What stands at a limit is taken; what stands behind it is refused, with the reason.
LIKE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "length": (
        {"dimensions": [{**DIM, "length": 2**48}]}, {"dimensions": [{**DIM, "length": 2**48 + 1}]},
        "a dimension without name or length",
    ),
    "name": (
        {"variables": [{**ONE, "name": 255 * "v"}]}, {"variables": [{**ONE, "name": 256 * "v"}]},
        "a variable without name",
    ),
    "dimensions": (
        {"variables": [{**ONE, "dimensions": 5 * ["x"]}]},
        {"variables": [{**ONE, "dimensions": 6 * ["x"]}]}, "invalid dimensions or chunks",
    ),
    "elements": (
        {"dimensions": WIDE, "variables": [{**ONE, "dimensions": ["x", "y"]}]},
        {"dimensions": [WIDE[0], {**WIDE[1], "length": 2**11 + 1}],
         "variables": [{**ONE, "dimensions": ["x", "y"]}]}, "invalid dimensions or chunks",
    ),
    "bytes": (
        {"dimensions": WIDE, "variables": [{**ONE, "type": "int64", "dimensions": ["x", "y"]}]},
        {"dimensions": WIDE, "variables": [
            {**ONE, "type": "int64", "dimensions": ["x", "y"]}, {**ONE, "name": "w"},
        ]}, "more than 2^62 bytes",
    ),
    "chunk": (
        {"variables": [{**ONE, "chunk": [4]}]}, {"variables": [{**ONE, "chunk": [0]}]},
        "invalid dimensions or chunks",
    ),
    "chunks": (
        {"variables": [{**ONE, "chunk": [1]}]}, {"variables": [{**ONE, "chunk": [1, 1]}]},
        "invalid dimensions or chunks",
    ),
    "filter": (
        {"variables": [{**ONE, "filters": []}]}, {"variables": [{**ONE, "filters": [["none", 1]]}]},
        "unknown filters of variable v",
    ),
    "filters": (
        {}, {"variables": [{**ONE, "filters": {"shuffle": 0}}]}, "unknown filters of variable v",
    ),
    "bytes of members": (
        {"variables": [{**ONE, "members": [MEMBER]}]},
        {"variables": [{**ONE, "members": [MEMBER, {**MEMBER, "name": "n", "shape": []}]}]},
        "invalid members of variable v",
    ),
    "members": (
        {"variables": [{**ONE, "members": [{**MEMBER, "shape": [1]}]}]},
        {"variables": [{**ONE, "members": [{**MEMBER, "shape": [0]}]}]},
        "invalid members of variable v",
    ),
    "names of members": (
        {"variables": [{**ONE, "members": [{**NUMBER, "shape": []}, {**MEMBER, "shape": [1]}]}]},
        {"variables": [{**ONE, "members": 2 * [{**NUMBER, "shape": []}]}]},
        "invalid members of variable v",
    ),
    "no members": ({}, {"variables": [{**ONE, "members": []}]}, "invalid members of variable v"),
    "members of a scalar": (
        {"variables": [{**ONE, "dimensions": []}]},
        {"variables": [{**ONE, "dimensions": [], "members": [{**NUMBER, "shape": []}]}]},
        "invalid members of variable v",
    ),
    "values": (
        {"variables": [{**ONE, "attributes": [{**NUMBER, "values": [1]}]}]},
        {"variables": [{**ONE, "attributes": [{**NUMBER, "values": []}]}]},
        "invalid attribute of variable v",
    ),
    "text": (
        {"attributes": [{**NUMBER, "type": "char", "values": "1"}]},
        {"attributes": [{**NUMBER, "type": "char", "values": 1}]}, "invalid attribute of the file",
    ),
    "number": (
        {"attributes": [{**NUMBER, "values": "1"}]}, {"attributes": [{**NUMBER, "values": None}]},
        "invalid attribute of the file",
    ),
    "attributes": (
        {"attributes": []}, {"attributes": {"a": 1}}, "invalid attribute of the file",
    ),
    "node": (
        {"variables": [MESH]}, {"variables": [{**MESH, "node": 33 * "n"}]},
        "invalid position in the mesh of variable v",
    ),
    "role": (
        {"variables": [{**MESH, "role": "user-array"}]}, {"variables": [{**MESH, "role": "side"}]},
        "invalid position in the mesh of variable v",
    ),
    "first zone": (
        {"variables": [MESH]}, {"variables": [{**MESH, "zone": 1}]},
        "invalid position in the mesh of variable v",
    ),
    "next zone": (
        {"variables": [MESH, {**MESH, "name": "w", "zone": 1}]},
        {"variables": [MESH, {**MESH, "name": "w", "zone": 2}]},
        "invalid position in the mesh of variable w",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LIKE)
def test_of_a_document(openmpi: Stack, tmp_path: Path, what: str) -> None:
    taken, refused, says = LIKE[what]
    for change in (taken, refused):
        (tmp_path / "a.like").write_text(json.dumps({**NEW, **change}))
        words = ["--plan", "--method", "null", "--like", str(tmp_path / "a.like")]
        done = openmpi.alone("file", *words)
        if change is taken:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 2 and says in done.stderr


def array(*dims: int, **more: Any) -> Change:
    return {"datasets": [{"name": "a", "type": "byte", "dims": list(dims), **more}]}


def parts(*corners: tuple[int, int]) -> list[Any]:
    """Of two processes: start and count in each dimension of a part."""
    return [[[[start for start, _ in corners], [count for _, count in corners]]]] * 2


# Numbers and header that are taken, then that are refused.
EXTENTS: dict[str, tuple[tuple[Any, Change], tuple[Any, Change], str]] = {
    "name": (
        (HALVES, array(4, 6, name=200 * "n")), (HALVES, array(4, 6, name=201 * "n")),
        "incomplete entry of an array",
    ),
    "hidden": (
        (HALVES, array(4, 6, name="a.-_Z9")), (HALVES, array(4, 6, name=".a")),
        "incomplete entry of an array",
    ),
    "dimensions": (
        (parts(*5 * [(0, 1)]), array(*5 * [1])), (parts(*6 * [(0, 1)]), array(*6 * [1])),
        "array with invalid dimensions, or of unknown type",
    ),
    "no dimension": (
        (parts((0, 1)), array(1)), (parts((0, 1)), array()),
        "array with invalid dimensions, or of unknown type",
    ),
    "length": (
        (parts((0, 1)), array(1)), (parts((0, 0)), array(0)), "array with invalid dimensions",
    ),
    "bytes": (
        (parts((0, 1)), array(2**62)), (parts((0, 1)), array(2**62 + 1)),
        "array with invalid dimensions",
    ),
    "bytes of numbers": (
        (parts((0, 1)), array(2**59, type="float64")),
        (parts((0, 1)), array(2**59 + 1, type="float64")), "array with invalid dimensions",
    ),
    "start": (
        (parts((0, 4), (6, 0)), {}), (parts((0, 4), (7, 0)), {}), "part outside its array",
    ),
    "count": (
        (parts((4, 0), (5, 1)), {}), (parts((4, 0), (5, 2)), {}), "part outside its array",
    ),
    "parts": (
        (HALVES, {"transfers": [{"dataset": 0, "parts": 1}]}),
        (HALVES, {"transfers": [{"dataset": 0, "parts": 0}]}), "incomplete entry of a transfer",
    ),
    "dataset": (
        (HALVES, {"transfers": [{"dataset": 0, "parts": 1}]}),
        (HALVES, {"transfers": [{"dataset": -1, "parts": 1}]}), "incomplete entry of a transfer",
    ),
    "size": ((HALVES, {}), (HALVES, {"transfers": 2 * [{"dataset": 0, "parts": 1}]}), "truncated"),
    "no transfers": ((HALVES, {}), ([], {"transfers": []}), "no arrays, or more than 65536"),
    "no arrays": ((HALVES, {}), (HALVES, {"datasets": []}), "no arrays, or more than 65536"),
    "no processes": ((HALVES, {}), ([], {"processes": 0}), "its header does not match"),
    "format": ((HALVES, {}), (HALVES, {"format": "other/1"}), "its header does not match"),
}  # fmt: skip


@pytest.mark.parametrize("what", EXTENTS)
def test_of_extents(openmpi: Stack, tmp_path: Path, what: str) -> None:
    taken, refused, says = EXTENTS[what]
    for case in (taken, refused):
        file = write(tmp_path / "e", case[0], **case[1])
        words = ["--plan", "--procs", "2", "--method", "null", "--extents", str(file)]
        done = openmpi.alone("extents", *words)
        if case is taken:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 2 and says in done.stderr
