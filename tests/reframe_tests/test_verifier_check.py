# SPDX-License-Identifier: BSD-3-Clause
"""Kernels whose verification lies: one changed bit gives them away, before any test runs."""

from __future__ import annotations

import copy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.measure import kernels
from reframe_tests.framework import verifier_check
from reframe_tests.framework.recorders import RECORDER, Recorder
from reframe_tests.framework.verifier_check import (
    FLIP,
    PROCESSES,
    SMALL,
    NoticesAWrongByte,
    changes_bits,
    in_a_run,
    patterns,
    problem,
    second_runs,
)
from tests.changed_kernel import changed_kernel
from tests.reframe_session import reframe

Json = dict[str, Any]

WRITTEN: Json = {"status": "ok", "error": None}
FOUND: Json = {
    "error": None,
    "verification": {
        "verdict": "mismatch",
        "mismatches": 1,
        "first": {"offset": 5000, "process": 0},
    },
}


def read(**changes: Any) -> Json:
    document = copy.deepcopy(FOUND)
    first = document["verification"]["first"]
    first.update({key: changes.pop(key) for key in list(changes) if key in first})
    document["verification"].update(changes)
    return document


@pytest.mark.parametrize(
    "pattern, offset, owner",
    [("ior", 4095, 0), ("ior", 4096, 1), ("s3d", 767, 0), ("s3d", 768, 1), ("s3d", 1536 + 767, 0)],
)
def test_whose_byte_it_is(pattern: str, offset: int, owner: int) -> None:
    """IOR: 4 KiB of each; S3D, split along its slowest axis: the first half of each array."""
    its_own, of_the_other = (read(offset=offset, process=p) for p in (owner, 1 - owner))
    assert "read back what it wrote itself" in str(problem(pattern, WRITTEN, its_own, offset))
    assert problem(pattern, WRITTEN, of_the_other, offset) is None


def test_a_right_answer() -> None:
    assert problem("ior", WRITTEN, FOUND, 5000) is None
    assert problem("weather", WRITTEN, FOUND, 5003) is None, "within its element"


@pytest.mark.parametrize(
    "written, answer, words",
    [
        ({"status": "failed", "error": "no space"}, FOUND, "could not be written: no space"),
        (WRITTEN, read(verdict="verified"), "do not notice a wrong byte"),
        (WRITTEN, read(mismatches=2), "2 elements are said to be wrong"),
        (WRITTEN, read(offset=0), "the first at byte 0"),
        (WRITTEN, read(process=1), "process 1 read back what it wrote itself"),
    ],
)
def test_a_wrong_answer(written: Json, answer: Json, words: str) -> None:
    assert words in str(problem("ior", written, answer, 5000))


@pytest.mark.parametrize(
    ("pattern", "mismatches", "words", "different", "said"),
    [
        ("s3d", 4, 1024, 3000, None),
        ("weather", 8, 1, 0, None),
        ("weather", 3, 1024, 3000, "do not notice a wrong byte in each repeat"),
        ("s3d", 4, 8, 3000, "do not depend on place and seed"),
        ("s3d", 4, 512, 3000, "do not depend on place and seed"),  # as of one step
        ("ior", 4, 1024, 2, "do not depend on place and seed"),
    ],
)
def test_a_run_and_its_values(
    pattern: str, mismatches: int, words: int, different: int, said: str | None
) -> None:
    measured = read(mismatches=mismatches)
    found = in_a_run(pattern, measured, 4096, words, different)
    assert said in found if said and found else found is said


def test_a_run_that_failed_is_not_said_to_notice_nothing() -> None:
    failed = {**read(mismatches=0), "error": "no space"}
    assert in_a_run("s3d", failed, 0, 0, 0) == "s3d: it could not be run: no space"


def test_a_recorder_that_changes_no_bits_accuses_nobody(tmp_path: Path) -> None:
    """By the library itself: what a run leaves, a lying program could remove."""
    library = tmp_path / "recorder.so"
    assert changes_bits(library), "on another machine"
    library.write_bytes(b"\x7fELF IOGAUGE_TRACE_PLANT")
    assert not changes_bits(library), "an older one plants already"
    built = kernels.build_for_tests("openmpi") / RECORDER
    assert changes_bits(built)
    (tmp_path / "compared").write_text("s3d 6144 512 3000\nior 8192 1024 4000\n")
    assert second_runs(tmp_path) == {"s3d": [6144, 512, 3000], "ior": [8192, 1024, 4000]}


def test_a_run_that_leaves_no_file(tmp_path: Path) -> None:
    """It ends neither the script nor the reading of what that left."""
    for folder in ("one", "two", "none"):
        (tmp_path / folder).mkdir()
    (tmp_path / "one" / "file").write_bytes(bytes(16))
    (tmp_path / "two" / "file").write_bytes(bytes(15) + b"x")
    calls = "compared one none s3d\ncompared none one ior\ncompared one two weather"
    script = f"set -euo pipefail\n{FLIP}\n{calls}"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    with (tmp_path / "compared").open("a") as rows:
        rows.write("file 16 1\n")
    none = [0, 0, 0]
    assert second_runs(tmp_path) == {"s3d": none, "ior": none, "weather": [16, 2, 1]}
    assert "left none" in str(in_a_run("weather", read(mismatches=4), 0, 0, 0))


def test_what_a_passed_check_is_good_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That program with that recorder, by that check."""
    monkeypatch.setattr(verifier_check, "builds", lambda: tmp_path)
    program, library, check = (tmp_path / name for name in ("iokernel", "recorder", "check"))
    program.touch()

    def known(recorder: Recorder | None) -> bool:
        test: Any = SimpleNamespace(
            kernels=SimpleNamespace(program=program), recorder=recorder, missing=None, seed=0,
            stamp=None, is_dry_run=lambda: False,
        )  # fmt: skip
        NoticesAWrongByte.skip_if_already_checked(test)
        if not test.needless:
            test.stamp.parent.mkdir(exist_ok=True)
            test.stamp.touch()
        return bool(test.needless)

    assert not known(None) and known(None)
    recorder = Recorder(str(library), real=False)
    library.write_text("one")
    assert not known(recorder) and known(recorder) and known(None)
    library.write_text("another")
    assert not known(recorder) and known(recorder)
    check.write_text("a stronger check")
    monkeypatch.setattr(verifier_check, "__file__", str(check))
    assert not known(recorder) and not known(None)


# What is changed in a copy of the kernels: file, from, to.
NEVER_COMPARES = (
    "driver/evidence.c",
    "if (!clean || !found->check.wrong) return;",
    "found->check.wrong = 0; if (clean || !clean) return;",
)
READS_ITS_OWN = (
    "driver/driver.c",
    "return reader.shifted;",
    "return reader.rank;",
)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup")
@pytest.mark.parametrize(
    "change, words",
    [
        (NEVER_COMPARES, "the verdict is 'verified'; expected 'mismatch'"),
        (READS_ITS_OWN, "read back what it wrote itself"),
    ],
)
def test_a_kernel_that_lies_measures_nothing(
    tmp_path: Path, change: tuple[str, str, str], words: str
) -> None:
    program = changed_kernel(kernels.build_for_tests("mpich"), [change], tmp_path / "lies")
    one = ("-t", "smoke", "-t", "ram", "-n", "S3d.*call=posix%", "-p", "mpich")
    session = reframe(tmp_path / "out", "-r", *one, "-S", f"kernel_path={program}", tests="s3d.py")
    assert session.status == 1
    assert words in session.text, session.text
    assert all(case["result"] != "pass" for case in session.cases)


@pytest.mark.slow
@pytest.mark.parametrize("trace", [True, False])
def test_nothing_is_preloaded_without_traces(trace: bool, tmp_path: Path) -> None:
    session = reframe(
        tmp_path, "--system", "local", "--dry-run", "-t", "smoke", "-S", f"trace={trace}",
        "-p", "openmpi", "-n", "S3d.*fs=ram.*call=posix%", tests="s3d.py",
    )  # fmt: skip
    assert session.status == 0, session.text
    scripts = [path.read_text() for path in tmp_path.glob("stage/*/*/*/openmpi/*/rfm_job.sh")]
    assert len(scripts) == 2, "of the check and of a test"
    for script in scripts:
        assert ("LD_PRELOAD" in script) == trace


@pytest.mark.slow
def test_a_number_of_processes_for_all_tests_is_not_meant_for_this_one(tmp_path: Path) -> None:
    """ReFrame hands it to all classes; the changed files are of two processes."""
    session = reframe(
        tmp_path, "--system", "local", "--dry-run", "-t", "smoke", "-S", "num_tasks=3",
        "-n", "S3d.*fs=ram.*call=posix%", tests="s3d.py",
    )  # fmt: skip
    assert session.status == 0, session.text
    scripts = {path.parent.name: path for path in tmp_path.glob("stage/*/*/*/openmpi/*/rfm_job.sh")}
    (own,) = (path for name, path in scripts.items() if name.startswith("Notices"))
    (other,) = (path for name, path in scripts.items() if name.startswith("S3d"))
    assert f" -n {PROCESSES} " in own.read_text() and " -n 3 " not in own.read_text()
    assert " -n 3 " in other.read_text()


def test_options_are_of_patterns_that_there_are() -> None:
    assert set(SMALL) <= set(patterns())
