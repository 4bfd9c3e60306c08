# SPDX-License-Identifier: BSD-3-Clause
"""yt and osyris read a RAMSES dump. `make test-newer` installs them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from tests.ctest import mpi_end
from tests.launch import launch_words

PYTHON = ROOT / ".local" / "venv-readers" / "bin" / "python"
READERS = Path(__file__).with_name("ramses_readers.py")
STACK, SIZE, PROCESSES, DUMPS = "openmpi", 64, 5, 3
pytestmark = pytest.mark.readers


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PYTHON.exists():
        pytest.skip("yt and osyris are not here: make test-newer installs them")
    if reason := kernels.lacking(STACK):
        pytest.skip(reason)
    folder, program = (
        tmp_path_factory.mktemp("readers"),
        kernels.build_for_tests(STACK) / "iokernel",
    )
    launch = [*launch_words(STACK), "-n", str(PROCESSES), str(program)]
    for pattern in ("ramses-amr", "ramses-hydro"):
        words = [pattern, "--values", "physical", "--size", str(SIZE), "--refine", "--keep",
                 "--overwrite"]  # fmt: skip
        words += ["--method", "posix", "--steps", str(DUMPS), "--dir", str(folder)]
        run = functools.partial(
            subprocess.run, [*launch, *words], env={**os.environ, **kernels.variables()},
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        done = mpi_end.twice_at_most(run, lambda one: mpi_end.kernel_blames_mpi(one.stderr))
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("dump", [2, 3])
def test_mass_and_shock(dumps: Path, dump: int, tmp_path: Path) -> None:
    """Both find every cell, the mass of a box of density 1, and the shock where Sedov has it."""
    plot = tmp_path / "slice.png"
    words = [str(PYTHON), str(READERS), str(dumps), str(dump), "--plot", str(plot)]
    environment = {**os.environ, "HOME": str(tmp_path), "MPLBACKEND": "agg"}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"reader"')]
    assert [line["reader"] for line in lines] == ["yt", "osyris"]
    radius = ((0.01 * dump) ** 2 / 0.851) ** 0.2
    for line in lines:
        assert line["cells"] > SIZE**3 and line["cells"] == lines[0]["cells"]
        assert line["volume"] == pytest.approx(1, rel=1e-9)
        assert line["mass"] == pytest.approx(1, rel=0.005)
        assert line["cell"] == 1 / SIZE
        assert line["shock"] == pytest.approx(radius, abs=1 / SIZE)
    assert plot.read_bytes().startswith(b"\x89PNG")
