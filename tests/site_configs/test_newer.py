# SPDX-License-Identifier: BSD-3-Clause
"""A newer generation of libraries: the smallest root of a Debian release is made, the kernels are
built in it, and what the certificate says of that stack must be right again. 0.8 GB, two minutes:
`make test-newer` runs it, and so does `make test-all`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.analysis.errors import UsageError
from iogauge.common.paths import BUILDS, ROOT
from iogauge.measure import iokernel
from iogauge.measure.certify import stacks
from reframe_tests.framework.build import mpi_problem
from site_configs.support import debian
from tests.reframe_session import reframe

SUITE, MPI = "trixie", "openmpi"
RELEASE = debian.Debian(SUITE)
CERTIFICATE = ROOT / "references" / "certificate.json"
MISSING = 3  # release.sh: no root can be made here
LEFT_OUT = "is missing (environments/debian/release.sh"
UNKNOWN = "is not in the certificate"
# In mode multi, which Debian 12 does not build: fewer rows than processes, some of which have none.
IDLE = {
    "cgns-structured": ["--one-block", "9x8x4", "--method", "cgns"],
    "cgns-unstructured": ["--elements", "5", "--method", "cgns"],
    "extents": ["--columns", "2x37x4", "--method", "hdf5"],
}
METHODS = ("mpiio", "hdf5", "pnetcdf")
PROCESSES = 6

pytestmark = pytest.mark.newer


def line_with(words: str, said: str) -> str:
    """The first that has them, or nothing."""
    return next((line for line in said.splitlines() if words in line), "")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """In the checkout; what it says is kept for the message of a failure."""
    return subprocess.run(
        [str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def made() -> str:
    """What making the root said; skips where none can be made."""
    found = run(ROOT / "environments/debian/release.sh", "--only", MPI, SUITE)
    if found.returncode == MISSING:
        pytest.skip(found.stderr.strip().splitlines()[-1])
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_what_is_certified_of_a_newer_stack_is_right_again(made: str, tmp_path: Path) -> None:
    stack = RELEASE.stack(MPI)
    checked = run(
        *(sys.executable, "-m", "iogauge", "certify", "--stack", stack, "--out", tmp_path),
        *("--minutes", 0.5, "--jobs", 2, "--seed", 11, "--check", CERTIFICATE),
    )
    said = made + checked.stdout + checked.stderr
    if reason := line_with(LEFT_OUT, checked.stderr):
        pytest.skip(f"{reason} ({made.strip()})")
    assert checked.returncode == 0, said
    program = BUILDS / f"certify-{stack}" / "iokernel"
    loaded = run(RELEASE.program("enter"), "ldd", program).stdout
    assert mpi_problem(loaded, "libmpi.so.40") is None, loaded
    if reason := line_with(UNKNOWN, checked.stdout):
        pytest.skip(reason)
    print(said)


@pytest.mark.parametrize("pattern", IDLE)
def test_a_process_without_data_takes_part_in_a_call_for_several_arrays(
    made: str, pattern: str, tmp_path: Path
) -> None:
    try:
        stack = stacks.prepare(RELEASE.stack(MPI))
    except UsageError as error:
        pytest.skip(f"{error} ({made.strip()})")
    words = [pattern, *IDLE[pattern], "--mode", "multi", "--dir", str(tmp_path)]
    ended = iokernel.run(stack, PROCESSES, words, document=tmp_path / "result.json")
    reasons = (RELEASE.folder / "libraries").read_text()
    if pattern.startswith("cgns") and "does not hand out" in reasons:
        pytest.skip(reasons.strip())
    assert ended.kind == "right", ended.why


def test_it_runs_in_a_session(made: str, tmp_path: Path) -> None:
    """Its own compiler, MPI and recorder; verified, traced, and its versions in the report."""
    stack = RELEASE.stack(MPI)
    session = reframe(
        tmp_path,
        *("--system", "local", "-r", "-t", "smoke", "-S", "repeats=1"),
        *("-n", "S3d.*fs=ram.*call=(mpiio|hdf5|pnetcdf):collective"),
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_STACKS": stack},
    )
    assert session.status == 0, made + session.text
    assert {case["method"] for case in session.cases} == set(METHODS)
    text = (RELEASE.folder / "versions.txt").read_text()
    versions = dict(line.split() for line in text.splitlines())
    for case in session.cases:
        assert (case["environ"], case["result"]) == (stack, "pass")
        assert case["ledger"].startswith(("balanced", "explained")), case["ledger"]
        assert case["spack_packages"] == versions
