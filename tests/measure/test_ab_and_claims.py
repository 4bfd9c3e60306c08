# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge run --rounds` and `claims --run` look at the sessions that they ran, at no other of the
store, and say where nothing was measured. ReFrame is played by a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.common import lock
from iogauge.measure.session import NOTHING_MEASURED, NOTHING_SELECTED

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "data" / "session" / "results"

# Says which sessions it was asked for, and leaves what PLAY says: the recorded session under a
# new name, the same with all tests skipped, or nothing.
REFRAME = """#!{python}
import json, os, pathlib, sys
play = os.environ["PLAY"].split(",")
count = pathlib.Path(os.environ["COUNT"])
number = len(count.read_text().split()) if count.exists() else 0
with count.open("a") as file:
    file.write(os.environ["RFM_TIMESTAMP_DIRS"] + "\\n")
kind = play[min(number, len(play) - 1)]
if kind == "nothing":
    sys.exit(0)
(report,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--report-file=")]
data = json.loads(pathlib.Path("{recorded}/reports/run-report-0.json").read_text())
data["session_info"]["uuid"] = f"mine-{{number}}"
data["session_info"]["prefix_output"] = "{recorded}/20261120T174318"
for case in data["runs"][0]["testcases"]:
    if kind == "skipped" and not case["fixture"]:
        case["result"] = "skip"
pathlib.Path(report).parent.mkdir(parents=True, exist_ok=True)
pathlib.Path(report).write_text(json.dumps(data))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """With a session before, and the played ReFrame beside a link to this Python."""
    programs = tmp_path / "bin"
    programs.mkdir()
    played = programs / "reframe"
    played.write_text(REFRAME.format(python=sys.executable, recorded=RECORDED))
    played.chmod(0o755)
    shutil.copytree(RECORDED, tmp_path / "output")
    environment = {**os.environ, "IOGAUGE_OUTPUT": str(tmp_path / "output")}
    stored = [sys.executable, "-m", "iogauge", "store", "add"]
    subprocess.run(stored, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return tmp_path


AB = ("run", "--stack", "openmpi,mpich", "--rounds")


def run(place: Path, play: str, *words: str) -> subprocess.CompletedProcess[str]:
    start = (
        "import sys, iogauge.measure.session as s; s.REFRAME = sys.argv.pop(1); "
        "from iogauge.cli.main import main; sys.exit(main())"
    )
    return subprocess.run(
        [sys.executable, "-c", start, str(place / "bin" / "reframe"), *words],
        cwd=ROOT, text=True, check=False, capture_output=True, timeout=800,
        env={
            **os.environ, "PLAY": play, "COUNT": str(place / "count"), lock.ESCAPE: "1",
            "IOGAUGE_OUTPUT": str(place / "output"),
        },
    )  # fmt: skip


def stored(place: Path) -> set[str]:
    return {path.stem for path in (place / "output" / "store").rglob("*.parquet")}


def rounds(place: Path) -> list[str]:
    return (place / "count").read_text().split()


def test_ab_compares_its_own_rounds_and_no_other(place: Path) -> None:
    before = stored(place)
    done = run(place, "whole", *AB, "2", "--", "-n", "S3d")
    assert stored(place) - before == {"mine-0", "mine-1"}
    assert len(set(rounds(place))) == 2
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("round ")] == [
        "round 1 of 2",
        "round 2 of 2",
    ]
    # A job of each round: the session before would make them three.
    assert "In these 2 sessions, over " in done.stdout


@pytest.mark.parametrize(
    ("play", "status"), [("nothing", NOTHING_SELECTED), ("skipped", NOTHING_MEASURED)]
)
def test_ab_fails_where_nothing_was_measured(place: Path, play: str, status: int) -> None:
    before = stored(place)
    done = run(place, play, *AB, "3", "--", "-n", "x")
    assert done.returncode == status
    assert "nothing was" in done.stderr and "MiB/s" not in done.stdout
    assert len(rounds(place)) == 1 and stored(place) == before


def test_ab_refuses_a_stack_that_is_unknown(place: Path) -> None:
    stacks = "openmpi,abi:lam==1"
    done = run(place, "whole", "run", "--stack", stacks, "--rounds", "8", "--", "-n", "x")
    assert done.returncode == 2
    assert "example: abi:mpich==5.0.2" in done.stderr


def test_ab_ends_at_the_round_in_which_nothing_was_measured(place: Path) -> None:
    done = run(place, "whole,nothing", *AB, "8", "--", "-n", "x")
    assert done.returncode == NOTHING_SELECTED
    assert len(rounds(place)) == 2 and "MiB/s" not in done.stdout


@pytest.mark.slow
def test_claims_are_judged_by_their_own_sessions(place: Path) -> None:
    """Where none was measured, the store's other sessions decide nothing."""
    of_the_store = subprocess.run(
        [sys.executable, "-m", "iogauge", "claims", "C3", "--json"],
        cwd=ROOT, check=True, capture_output=True, text=True,
        env={**os.environ, "IOGAUGE_OUTPUT": str(place / "output")},
    )  # fmt: skip
    done = run(place, "nothing", "claims", "C3", "--run", "--oversubscribe")
    assert json.loads(of_the_store.stdout)[0]["claim"] == "C3"
    assert done.returncode == NOTHING_SELECTED
    assert "no claim can be judged" in done.stderr
    assert "not testable here" in done.stdout
    assert "reproduced" not in done.stdout and "contradicted" not in done.stdout
    again = run(place, "whole", "claims", "C3", "--run", "--oversubscribe")
    assert again.returncode == 0, again.stderr
    assert any(name.startswith("mine-") for name in stored(place))


@pytest.mark.parametrize(
    "words",
    [[*AB, "8"], ["claims", "--run"], ["run", "-n", "x"]],
)
def test_one_after_the_other(place: Path, words: list[str]) -> None:
    """All three hold the lock of the output folder: a second one says who measures."""
    with lock.measuring("a test", [place / "output" / lock.NAME]):
        environment = {
            **os.environ, lock.ESCAPE: lock.MACHINE, "IOGAUGE_OUTPUT": str(place / "output"),
            "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        }  # fmt: skip
        with subprocess.Popen(
            [sys.executable, "-m", "iogauge", *words],
            cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            said = process.stderr.readline()
            process.kill()
    assert "waiting for a test, process" in said and lock.ESCAPE in said
