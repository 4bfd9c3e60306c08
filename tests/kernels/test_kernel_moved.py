# SPDX-License-Identifier: BSD-3-Clause
"""`ioserver --local`: I/O processes write on their nodes, and move the files to their places."""

from __future__ import annotations

import filecmp
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Run, Stack
from recorder_runs import kernel

from iogauge.analysis.darshan.log import read_log
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.verdict import judge

HYDRO = ["ramses-hydro", "--size", "16", "--method", "ioserver", "--seed", "7"]


def moved(stack: Stack, place: Path, *more: str, processes: int = 4) -> Run:
    for name in ("local", "data"):
        (place / name).mkdir(parents=True, exist_ok=True)
    words = [*HYDRO, "--local", str(place / "local"), "--dir", str(place / "data"), *more]
    return stack.run(*words, processes=processes, document=place / "result.json")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("io_processes", ["1", "2"])
@pytest.mark.parametrize("flush", [[], ["--fsync"]])
def test_files_are_the_same_as_without(
    stack: Stack, tmp_path: Path, io_processes: str, flush: list[str]
) -> None:
    more = ["--steps", "2", "--repeat", "2", "--keep", "--io-processes", io_processes, *flush]
    found = moved(stack, tmp_path, *more).good()
    assert found["verification"]["verdict"] == "verified"
    assert found["asked"]["method_options"]["local"] == str(tmp_path / "local")
    assert list((tmp_path / "local").iterdir()) == []
    plain = tmp_path / "plain"
    plain.mkdir()
    right = [*HYDRO, "--dir", str(plain), *more]
    stack.run(*right, processes=4, document=plain.with_suffix(".json")).good()
    names = files(plain)
    assert names and files(tmp_path / "data") == names
    assert filecmp.cmpfiles(plain, tmp_path / "data", names, shallow=False)[0] == names


def test_the_move_is_a_phase_that_nobody_sees_before(stack: Stack, tmp_path: Path) -> None:
    run = moved(stack, tmp_path, "--compute-seconds", "0.1")
    found = run.good()
    (sample,) = found["samples"]
    phases: dict[str, Any] = sample["write"]["phases"]
    assert phases["move"]["max"] > 0
    assert {"drain", "move"} <= {span["phase"] for span in sample["write"]["spans"]}
    visible = sample["write"]["seconds"] - phases["drain"]["max"] - phases["move"]["max"]
    apparent = found["payload"]["bytes"] / visible / 2**20
    assert found["summary"]["apparent_bw"] == pytest.approx(apparent, rel=1e-6)
    assert "move" not in sample["direct"]["phases"]
    assert not any((tmp_path / "local").iterdir()) and not files(tmp_path / "data")


def test_a_traced_run_has_its_bytes_in_its_own_files(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    run, _ = kernel(stack, tmp_path, *HYDRO, "--local", str(tmp_path / "local"), processes=4)
    log = read_log(tmp_path / "trace.darshan", convert=tmp_path / "traces")
    assert judge(make_ledger(run.good(), log)).verdict == "balanced"


@pytest.mark.parametrize(
    ("inner", "said"),
    [("mpiio", "use --inner posix"), ("posix-shared", "use --inner posix")],
)
def test_shared_files_are_refused(stack: Stack, tmp_path: Path, inner: str, said: str) -> None:
    assert said in moved(stack, tmp_path, "--inner", inner).error(2)


def test_a_folder_that_is_not_there(stack: Stack, tmp_path: Path) -> None:
    words = [*HYDRO, "--local", str(tmp_path / "none"), "--dir", str(tmp_path)]
    said = stack.run(*words, processes=3, document=tmp_path / "r.json").error(1)
    assert f"--local: mkdtemp: No such file or directory: {tmp_path / 'none'}" in said
    assert files(tmp_path) == ["r.json"]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3])
def test_a_users_file_made_meanwhile_stays(stack: Stack, tmp_path: Path, seconds: int) -> None:
    """It is made after the first dump was moved, while the application computes."""
    data = tmp_path / "data"
    mine = data / "output_00002" / "hydro_00002.out00001"
    made: list[bool] = []

    def make() -> None:
        while not (data / "output_00001" / "hydro_00001.out00001").exists():
            time.sleep(0.01)
        mine.parent.mkdir(exist_ok=True)
        try:
            with mine.open("x") as file:
                file.write("mine")
            made.append(True)
        except FileExistsError:  # this machine was too busy to be in time
            made.append(False)

    maker = threading.Thread(target=make, daemon=True)
    maker.start()
    run = moved(stack, tmp_path, "--steps", "2", "--compute-seconds", str(seconds))
    maker.join(60)
    if made != [True]:
        pytest.skip("the second dump was moved before the file could be made")
    assert f"create: File exists: {mine}" in run.error(1)
    assert mine.read_text() == "mine"
    assert files(data) == [str(mine.relative_to(data))]
