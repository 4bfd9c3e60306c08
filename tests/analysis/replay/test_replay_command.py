# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge replay`: its answer follows from the seconds of the runs, with a stand-in for iokernel,
and errors are reported before anything runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.analysis.errors import EXIT_DATA, EXIT_USAGE
from iogauge.analysis.judge import faster_alternative
from iogauge.analysis.judge.faster_alternative import LOGGED, Alternative
from iogauge.analysis.replay import check, plan, trace, what_if
from iogauge.cli.main import main
from iogauge.common.text import duration, three
from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack
from iogauge.measure.replay import Contest, Others, Runner, flushes, methods

DATA = Path(__file__).parents[2] / "data" / "darshan"
BELOW = DATA / "darshan-mpich-hdf5-dxt" / "trace.darshan"  # its MPI-IO calls went through views
COUNTERS = DATA / "openmpi-posix-ceilings" / "trace.darshan"  # of POSIX calls alone
SPEC = find_spec("darshan")
assert SPEC and SPEC.origin  # a requirement of the analysis
LOG = Path(SPEC.origin).parent / "examples" / "example_logs" / "ior_hdf5_example.darshan"
LISTING = {
    "modes": [
        {"name": "collective", "one_process": False},
        {"name": "serial", "one_process": True},
    ],
    "methods": [
        {"name": "null", "available": True, "moves_nothing": True, "modes": []},
        {"name": "posix", "available": True, "moves_nothing": False, "modes": []},
        {"name": "hdf5", "available": True, "moves_nothing": False,
         "modes": ["collective", "serial"]},
        {"name": "pnetcdf", "available": False, "moves_nothing": False, "modes": []},
        {"name": "ioserver", "available": True, "moves_nothing": False, "modes": []},
        {"name": "cgns", "available": True, "moves_nothing": False, "modes": ["collective"]},
    ],
}  # fmt: skip
# Its seconds by method; a method that is not here has it refused. `-n N` is the launcher's.
PROGRAM = """#!/bin/sh
shift 2; shift
all="$*"; log=$(dirname "$0")/ran
case "$all" in *--list*) cat "$(dirname "$0")/listing"; exit 0;; esac
while [ $# -gt 0 ]; do
  [ "$1" = --json ] && json=$2
  [ "$1" = --method ] && method=$2
  shift
done
echo "$all" >> "$log"
case "$all" in
  *" ioserver"*) echo "iokernel: error: wrong bytes" >&2; exit 1;;
  replay*) s=3.1;; *" posix"*) s=1;; *" hdf5"*) s=6.2;;
  *) echo "iokernel: error: no mesh: x" >&2; exit 2;;
esac
write="{\\"seconds\\": $s, \\"phases\\": {\\"flush\\": {\\"max\\": 0.5}}}"
verified="{\\"verdict\\": \\"verified\\"}"
echo "{\\"verification\\": $verified, \\"samples\\": [{\\"write\\": $write}]}" > "$json"
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """One program stands for both, iokernel and what starts it."""
    program = tmp_path / "mpiexec"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (tmp_path / "listing").write_text(json.dumps(LISTING))
    return [
        "replay", str(LOG), "--dir", str(tmp_path), "--iokernel", str(program),
        "--launch", str(program), "-o", str(tmp_path / "out"),
    ]  # fmt: skip


def ran(words: list[str]) -> list[str]:
    path = Path(words[3]) / "ran"
    return path.read_text().splitlines() if path.exists() else []


def test_the_answer(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--method", "posix", "--method", "hdf5"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "as logged: verified, 3.10 s writing" in said
    planned = plan.make(trace.load(LOG), tmp_path / "s")
    program = check.program_seconds(planned, trace.WRITE)
    assert 0 < program < 0.8 * 3.1
    assert said[-5:] == [
        f"as logged: 3.10 s to write your dump, verified; the program itself: {duration(program)}",
        f"the replay took {3.1 / program:.1f} times as long as the program in its calls: the "
        "ranges are wider by that",
        "none of the other methods (2) would have written your dump significantly faster",
        f"posix: slower or faster, {three(program)} to 3.10 times as fast, verified",
        f"hdf5:collective would have taken 2.00 to {6.2 / program:.3g} times as long to write your "
        "dump, verified",
    ]
    kept = json.loads((Path(words[-1]) / "answer.json").read_text())
    assert kept["answer"] == said[-5:] and kept["processes"] == 4
    runs = ran(words)
    assert len(runs) == 1 + 7 * 3  # as it was, then rounds
    # The pauses of the program count in the first alone; flushes of the log are the methods' too.
    assert "--think 1" in runs[0] and not any("--think 1" in line for line in runs[1:])
    assert all(("--fsync" in line) == ("extents" in line) for line in runs)


def test_no_factor_where_owners_are_unknown(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words[1] = str(BELOW)
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "no other methods: of the program's MPI-IO calls only the POSIX" in said
    kept = json.loads((Path(words[-1]) / "answer.json").read_text())
    assert len(ran(words)) == 1 and kept["alternatives"] == []
    # Seconds of all processes in F_META_TIME, F_WRITE_TIME and F_READ_TIME of its MPI-IO record, as
    # PyDarshan reads them; in the POSIX calls below they were 0.001 s.
    both = {"write": 0.7744915 + 0.9288363, "read": 0.7895749}
    assert kept["program_seconds"] == pytest.approx({k: v / 2 for k, v in both.items()})


def test_no_factor_where_bytes_are_moved_twice(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each direction has its own answer."""
    asked = []

    def refuse(one: trace.Trace, _: Path, direction: int) -> None:
        asked.append(direction)
        raise trace.CannotReplayError(f"{one.path}: written before")

    monkeypatch.setattr(what_if, "make", refuse)
    program = Path(words[words.index("--iokernel") + 1])
    both = '\\"write\\": $write, \\"read\\": $write'
    program.write_text(PROGRAM.replace('\\"write\\": $write', both))
    assert main(words) == 0
    assert f"no other methods: {LOG}: written before" in capsys.readouterr().out
    assert asked == [trace.WRITE, trace.READ] and len(ran(words)) == 1


def test_no_factor_where_accesses_are_made_up(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a log with counters of POSIX calls alone: no MPI-IO is in the way of other methods."""
    words[1] = str(COUNTERS)
    assert main([*words, "--synthesise"]) == 0
    said = capsys.readouterr().out
    assert "no other methods: --synthesise makes up who owns which bytes" in said
    kept = json.loads((Path(words[-1]) / "answer.json").read_text())
    assert len(ran(words)) == 1 and kept["alternatives"] == []
    assert set(kept["program_seconds"].values()) == {0.0}


def test_what_is_wrong_or_cannot_be(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A method with wrong bytes is the answer's, and its exit status; reasons stand once."""
    assert main([*words, "--rounds", "1"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "left out: cgns:collective: iokernel: error: no mesh: x" in said
    assert "WRONG: ioserver:posix, ioserver:hdf5: iokernel: error: wrong bytes" in said
    assert any(line.startswith("posix: not decided yet: add --rounds ") for line in said)
    assert not any("significantly faster" in line for line in said)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--method", "hdf"], "did you mean 'hdf5'?"),
        (["--rounds", "-1"], "--rounds -1: expected 0 or more"),
        (["--fold", "0"], "--fold 0: expected 1 or more"),
        (["--dir", "/nowhere"], "--dir /nowhere: expected an existing folder"),
        (["--iokernel", "/nowhere"], "--iokernel /nowhere: expected a program"),
        (["--launch", "/nowhere -x"], "--launch /nowhere -x: not found"),
        (["-o", str(LOG.parent)], "is not empty: name a new folder"),
    ],
)
def test_wrong_words(
    words: list[str], more: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *more]) == 2
    assert says in capsys.readouterr().err
    assert ran(words) == [] and not Path(words[-1]).exists()


@pytest.mark.parametrize(
    "line",
    [
        ["replay", str(COUNTERS), "--dir", "."],
        ["replay", str(LOG), "--dir", ".", "--gap", "0"],
        ["replay", "missing", "--dir", "."],
        ["shrink", "."],
    ],
)
def test_input_is_read_before_anything_is_built(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> Path:
        pytest.fail("built before the input was read")

    monkeypatch.chdir(tmp_path)
    for name in ("build_for_runs", "build_for_tests"):
        monkeypatch.setattr(kernels, name, build)
    assert main(line) in (EXIT_USAGE, EXIT_DATA)
    assert not list(tmp_path.iterdir())


def test_for_programs(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--method", "posix", "--hint", "a=b", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["alternative"], row["hints"], row["verdict"]) for row in rows] == [
        (LOGGED, "", ""), (LOGGED, "a=b", "no difference"), ("posix", "a=b", "faster")
    ]  # fmt: skip
    assert float(rows[2]["ratio"]) == pytest.approx(3.1)
    assert all("--hint a=b" in line for line in ran(words) if "extents" in line)


def test_the_replay_alone(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--rounds", "0", "--fold", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alternatives"] == []
    (line,) = ran(words)
    assert "--fold" in line


def test_a_program_that_only_reads_flushes_nothing() -> None:
    assert not flushes({"samples": [{"write": None, "read": {"seconds": 1.0}}]})


def test_methods_that_move_data() -> None:
    assert methods(LISTING) == {
        "posix": (["--method", "posix"], 0),
        "hdf5:collective": (["--method", "hdf5", "--mode", "collective"], 0),
        "ioserver:posix": (["--method", "ioserver", "--inner", "posix"], 1),
        "ioserver:hdf5": (["--method", "ioserver", "--inner", "hdf5"], 1),
        "cgns:collective": (["--method", "cgns", "--mode", "collective"], 0),
    }


class Timed(Runner):
    """Runs that take what they are told."""

    def __init__(self, took: dict[str, list[float]]) -> None:
        super().__init__(Stack("", Path(), ()), Path(), Path())
        object.__setattr__(self, "took", {name: iter(some) for name, some in took.items()})

    def run(self, other: Alternative, more: object = (), traces: object = None) -> object:
        seconds = next(self.took[other.name])  # type: ignore[attr-defined]
        return {"samples": [{"write": {"seconds": seconds}}]}


def contest(took: dict[str, list[float]]) -> tuple[Sequence[Alternative], Sequence[Alternative]]:
    """All, and the decided."""
    found = Contest(Timed(took), [Alternative(name, [], 1) for name in took], lambda *_: None)
    found.run(7)
    return found.alternatives, found.decided


def test_the_round_that_chooses_does_not_count() -> None:
    """The first of eight is by far the fastest of `lucky`; later it is as slow as the replay."""
    seven = [1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.05]
    took = {LOGGED: [1.0, *seven], "lucky": [0.01, *seven[::-1]], "fast": [0.5, *[0.5] * 7],
            "third": [0.9, *[1.0] * 7], "slow": [2.0]}  # fmt: skip
    found = contest(took)
    assert [other.name for other in found[1]] == ["lucky", "fast", "third"]
    lines = faster_alternative.answer(*found)
    assert lines[0] == "as logged: 1.00 s to write your dump, verified; the program itself: unknown"
    assert lines[1].startswith("fast would have written your dump 2.00 times as fast (1.")
    assert any(line.startswith("lucky: no difference") for line in lines)
    assert lines[-1] == "tried in one round, not among the fastest, verified: slow"


def test_rounds_that_depend_on_each_other_are_repeated() -> None:
    """Seven rounds that grow are worth fewer; of twice as fast in all of fourteen it is decided."""
    took = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.0, 1.6, 1.1, 1.5, 1.2, 1.4, 1.3]
    found = contest({LOGGED: took, "fast": [0.5] * 14})
    assert 7 < len(found[1][0].seconds) <= 14
    assert "fast would have written" in faster_alternative.answer(*found)[1]


class Refused(Timed):
    """Only the replay runs."""

    def run(self, other: Alternative, more: object = (), traces: object = None) -> object:
        if other.name == LOGGED:
            return super().run(other, more, traces)
        other.why = "refused"
        return None


@pytest.mark.parametrize("others", [1, 4])
def test_with_nothing_to_compare_the_replay_has_its_rounds_alone(others: int) -> None:
    """With more methods than go on, after the round that chooses; and no round more."""
    took = {LOGGED: [1.0] * 30, **{f"m{i}": [1.0] for i in range(others)}}
    shown: list[tuple[int, int]] = []
    alternatives = [Alternative(name, [], 1) for name in took]
    found = Contest(Refused(took), alternatives, lambda made, total, _: shown.append((made, total)))
    found.run(7)
    first = others > found.best
    assert sorted(alternatives[0].seconds) == list(range(1 - first, 8))
    assert found.decided == ([] if first else alternatives[1:])
    assert [made for made, _ in shown] == list(range(found.made))


def test_that_nothing_is_faster_is_said_first() -> None:
    seven = [1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.05]
    lines = faster_alternative.answer(
        *contest({LOGGED: [1.0, *seven], "alike": [1.0, *seven[::-1]]})
    )
    assert lines[1] == (
        "none of the other methods (1) would have written your dump significantly faster"
    )
    lines = faster_alternative.answer(*contest({LOGGED: [1.0, *seven], "fast": [0.5, *[0.5] * 7]}))
    assert not any(line.startswith("none of") for line in lines)


def test_a_factor_that_is_not_known_within_two_is_a_range() -> None:
    slow = [1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 5.0]
    lines = faster_alternative.answer(
        *contest({LOGGED: slow, "fast": [0.5] * 7, "late": [90.0] * 7}),
        0.0, faster_alternative.READING,
    )  # fmt: skip
    assert lines[1:] == [
        "fast would have read your data 2.00 to 18.0 times as fast, verified",
        "late would have taken 10.0 to 90.0 times as long to read your data, verified",
    ]


def test_three_ways_at_once_take_seven_rounds() -> None:
    """The chance that all of n rounds lie on one side of the truth, for any of the alternatives."""
    for count, rounds in ((1, 6), (3, 7), (4, 8)):
        assert faster_alternative.rounds_for(count) == rounds
        assert count * 2 ** (1 - rounds) <= 0.05 < max(count * 2 ** (2 - rounds), 0.051)


@pytest.mark.parametrize("servers", [0, 2])
def test_an_alternative_starts_the_traces_processes_and_its_servers(servers: int) -> None:
    """With hints, the replay itself comes first, unless no call takes any."""
    for level, count in ((trace.POSIX, 1), ("MPI-IO", 2)):
        file = SimpleNamespace(level=level)
        traced: Any = SimpleNamespace(processes=3, files=[file])
        asked = Others(Path("x"), 4, ("another",), ("cb_nodes=1",))
        replay = Alternative(LOGGED, ["replay"], 3)
        found = asked.alternatives(replay, traced, {"another": (["--mode", "m"], servers)})
        assert len(found) == count
        assert (found[-1].name, found[-1].processes) == ("another", 3 + servers)
        assert found[-1].words[-2:] == ["--mode", "m"]
