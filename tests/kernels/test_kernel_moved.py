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
from tests.selftest.injector import Plan, preload

HYDRO = ["ramses-hydro", "--size", "16", "--method", "ioserver", "--seed", "7"]


def moved(
    stack: Stack,
    place: Path,
    *more: str,
    processes: int = 4,
    environment: dict[str, str] | None = None,
) -> Run:
    for name in ("local", "data"):
        (place / name).mkdir(parents=True, exist_ok=True)
    words = [*HYDRO, "--local", str(place / "local"), "--dir", str(place / "data"), *more]
    document = place / "result.json"
    return stack.run(*words, processes=processes, document=document, environment=environment)


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


@pytest.mark.parametrize(("call", "place"), [("read", "local"), ("write", "data")])
def test_an_interrupted_call_is_repeated(
    stack: Stack, tmp_path: Path, injector: Path, call: str, place: str
) -> None:
    environment = preload(injector, Plan(call, "EINTR", rank=3), tmp_path / place)
    found = moved(stack, tmp_path, environment=environment).good()
    assert found["verification"]["verdict"] == "verified"


class Maker:
    """A user who makes a file as soon as a folder of the run is there."""

    def __init__(self, after: Path, mine: Path) -> None:
        self.after, self.mine = after, mine
        self.late = True  # or not in time at all
        self.thread = threading.Thread(target=self._make, daemon=True)
        self.thread.start()

    def _make(self) -> None:
        while not self.after.exists():
            time.sleep(0.01)
        self.mine.parent.mkdir(exist_ok=True)
        try:
            with self.mine.open("x") as file:
                file.write("mine")
            self.late = False
        except FileExistsError:  # this machine was too busy
            pass

    def check(self, data: Path) -> None:
        """The user's file is all there is."""
        self.thread.join(60)
        if self.late:
            pytest.skip("the dump was moved before the file could be made")
        assert self.mine.read_text() == "mine"
        left = [path for path in data.rglob("*") if path not in (self.mine, self.mine.parent)]
        assert left == [], left


def dump(place: Path, number: int) -> Path:
    return place / "data" / f"output_{number:05}" / f"hydro_{number:05}.out00001"


SLOW = {  # processes, dumps, the one in the way, and the server whose calls take a second
    "one server": (2, 2, 2, None),
    "the other server has finished": (3, 4, 4, 2),
    "the other server is moving": (3, 16, 7, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_a_users_file_made_meanwhile_stays(
    stack: Stack, tmp_path: Path, injector: Path, case: str
) -> None:
    """And it alone: with two servers and one client, each has every other dump."""
    processes, steps, number, slow = SLOW[case]
    (tmp_path / "local").mkdir()
    plan = Plan("read", "slow", times=None, rank=slow)
    mine = dump(tmp_path, number)
    maker = Maker(mine.parent, mine)
    more = ["--steps", str(steps), "--io-processes", str(processes - 1)]
    environment = preload(injector, plan, tmp_path / "local")
    run = moved(stack, tmp_path, *more, processes=processes, environment=environment)
    maker.check(tmp_path / "data")
    assert f"create: File exists: {mine}" in run.error(1)
    assert list((tmp_path / "local").iterdir()) == []


@pytest.mark.slow
def test_a_users_file_stays_after_a_crash(stack: Stack, tmp_path: Path, injector: Path) -> None:
    """Of the process that would have written it."""
    mine = dump(tmp_path, 2)
    maker = Maker(dump(tmp_path, 1).parent, mine)
    plan = Plan("open", "crash", rank=0)
    environment = preload(injector, plan, mine.parent)
    more = ["--steps", "2", "--compute-seconds", "2"]
    run = moved(stack, tmp_path, *more, processes=2, environment=environment)
    maker.thread.join(60)
    if maker.late:
        pytest.skip("the crash came before the file could be made")
    assert run.status != 0 and "in phase create of method ioserver" in run.stderr, str(run)
    assert mine.read_text() == "mine"
