# SPDX-License-Identifier: BSD-3-Clause
"""Compounds, such as particles: other readers find the members of a user's file, with the values
that the model computes; a method that cannot hold them names them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import numpy as np
import pytest
from iokernel_stacks import Stack

from iogauge.cli.main import main as analysis

KIND = np.dtype([("pos", "<f4", (3,)), ("id", "<i8"), ("tag", "<i2"), ("letters", "S1", (2,))])
GRID = (9, 5)
STEP = 0x9E3779B97F4A7C15  # between the keys of members (kernels/driver/values.c)


@pytest.fixture(scope="module")
def like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both in one file: `cells` is first in it."""
    path = tmp_path_factory.mktemp("user") / "run.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("cells", GRID, "f8")
        file.create_dataset("particles", GRID, KIND, chunks=(4, 5), compression="gzip")
    out = path.with_suffix(".like")
    assert analysis(["replay", "like", str(path), "-o", str(out)]) == 0
    return out


def particles(calm: int) -> Any:
    made, count = np.zeros(GRID, KIND), int(np.prod(GRID))
    for i, name in enumerate(KIND.names or ()):
        base, shape = KIND[name].subdtype or (KIND[name], ())
        kind = "char" if base.kind == "S" else base.name
        of = (model.key(1, 1, 0) + (i + 1) * STEP) % 2**64
        values = model.values(kind, of, count * int(np.prod(shape)), calm)
        made[name] = values.view(base).reshape(GRID + shape)
    return made


CASES = [
    (["--method", "hdf5"], ["--cut", "axis2_9=2:cyclic:2"]),
    (["--method", "hdf5", "--mode", "independent"], ["--procs-grid", "1x2"]),
    (["--method", "hdf5", "--mode", "filtered"], ["--procs-grid", "2x1"]),
    (["--method", "mpiio"], ["--procs-grid", "1x2"]),
    (["--method", "posix-shared"], ["--cut", "axis1_5=2:cyclic"]),
]


@pytest.mark.parametrize(("how", "cut"), CASES, ids=[" ".join(how[1:]) for how, _ in CASES])
def test_values(stack: Stack, like: Path, tmp_path: Path, how: list[str], cut: list[str]) -> None:
    words = ["file", "--like", str(like), *how, *cut, "--compressibility", "0.5", "--keep"]
    document = stack.run(
        *words, "--dir", str(tmp_path), document=tmp_path.with_suffix(".json")
    ).good()
    assert document["verification"]["verdict"] == "verified"
    assert document["payload"]["bytes"] == 45 * (8 + KIND.itemsize)
    (path,) = tmp_path.iterdir()
    if path.suffix != ".h5":
        raw = path.read_bytes()[45 * 8 :]
        np.testing.assert_array_equal(np.frombuffer(raw, KIND).reshape(GRID), particles(64))
        return
    with h5py.File(path) as made:
        assert made["particles"].dtype == KIND and made["particles"].chunks == (4, 5)
        np.testing.assert_array_equal(made["particles"][...], particles(64))


def test_a_wrong_byte_is_named(openmpi: Stack, like: Path, tmp_path: Path) -> None:
    words = ["file", "--like", str(like), "--method", "posix-shared", "--dir", str(tmp_path)]
    document = tmp_path.with_suffix(".json")
    openmpi.run(*words, "--keep", "--write-only", document=document).good()
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[45 * 8 + 7 * KIND.itemsize + 3] ^= 1
    path.write_bytes(data)
    done = openmpi.run(*words, "--read-only", document=document)
    wrong = done.result()["verification"]
    assert done.status == 1 and wrong["mismatches"] == 1
    assert wrong["first"]["dataset"] == "particles" and wrong["first"]["index"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("how", "holds"),
    [
        (["--method", "pnetcdf"], "method pnetcdf does not support compounds"),
        (["--method", "twophase", "--format", "cdf5"], "--format cdf5 does not support compounds"),
        (["--method", "ioserver", "--inner", "hdf5"], "I/O processes forward plain bytes"),
    ],
)
def test_who_cannot(openmpi: Stack, like: Path, how: list[str], holds: str) -> None:
    done = openmpi.alone("file", "--plan", "--procs", "3", "--like", str(like), *how)
    assert done.returncode == 2 and holds in done.stderr and "particles" in done.stderr


@pytest.mark.parametrize(
    "members",
    [
        [], [{"name": "a", "type": "float64"}], [{"name": "a", "type": "none", "shape": []}],
        [{"name": "a", "type": "int8", "shape": [5000]}],
        [{"name": "a", "type": "int8", "shape": []}] * 2,
    ],
)  # fmt: skip
def test_a_wrong_document(openmpi: Stack, like: Path, tmp_path: Path, members: Any) -> None:
    document = json.loads(like.read_text())
    document["variables"][1]["members"] = members
    (tmp_path / "a.like").write_text(json.dumps(document))
    words = ["file", "--plan", "--method", "null", "--like", str(tmp_path / "a.like")]
    done = openmpi.alone(*words)
    assert done.returncode == 2 and "invalid members of variable particles" in done.stderr
