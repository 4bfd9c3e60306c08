# SPDX-License-Identifier: BSD-3-Clause
"""`why`: planted causes are named, first; and what it tells to run can be run."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from iogauge.analysis.darshan.log import Work
from iogauge.analysis.judge import bottleneck, remedies, slow
from iogauge.analysis.judge.bottleneck import Cause, Facts, Kind
from iogauge.analysis.ledger import traced
from iogauge.analysis.ledger.ledger import Layer, Side
from iogauge.analysis.pages import answers
from iogauge.analysis.session.peaks import Peaks, SessionPeak
from tests import analysis_made as made
from tests.analysis_recorded import DATA, run_analysis, s3d

LOGS = DATA / "darshan"
PAYLOAD = 64 * 2**20


def document(**more: Any) -> dict[str, Any]:
    return {
        "asked": {"pattern": "s3d", "method": "mpiio", "mode": "collective"},
        "used": {"caches": "cached"}, "file_count": 1, "samples": [], **more,
    }  # fmt: skip


def facts(direction: Any = "write", **more: Any) -> Facts:
    """A second, all of it moving data evenly, at a tenth of the ceiling: nothing is wrong."""
    given: dict[str, Any] = {
        "document": document(), "seconds": 1.0, "phases": {direction: (1.0, 1.0)},
        "bandwidth": 64.0, "ceilings": {"fpp": 640.0, "shared": 600.0},
        "side": side(direction), "slowest": {"POSIX": (0.98, 1), "MPI-IO": (0.99, 0)},
        "mean": {"POSIX": 0.98, "MPI-IO": 0.99},
    }  # fmt: skip
    given |= more
    if "latencies" not in given:
        given["latencies"] = slow.latencies(given["document"], direction)
    return Facts(direction, **given)


def side(direction: Any, posix_calls: int = 64, collective: int = 0) -> Side:
    layers = (
        Layer("MPI-IO", PAYLOAD, 4, collective, processes=2),
        Layer("POSIX", PAYLOAD, posix_calls, 0, processes=2),
    )
    return Side(direction, 1, PAYLOAD, PAYLOAD, PAYLOAD, 0, layers)


@pytest.mark.parametrize(
    ("seconds", "ceilings", "kinds"),
    [(0.2, [100, 140], ["storage"]), (0.0046, [100, 140], []), (0.2, [100, 160], [])],
)
def test_a_short_repeat_or_an_uneven_peak_gives_no_advice(
    seconds: float, ceilings: list[int], kinds: list[str]
) -> None:
    """A case at the peak; its repeats take 4.6 ms, or the peak varied by 1.6."""
    moved = {"bandwidth": 130, "seconds": seconds, "phases": {}}
    samples = [{"write": moved, "ceilings": {"fpp": {"write": peak}}} for peak in ceilings]
    (one,) = bottleneck.facts(document(samples=samples), None, {})
    assert [cause.kind for cause in bottleneck.causes(one)] == kinds


@pytest.mark.parametrize(
    ("peak", "varied", "share"),
    [(130.0, 1.5, 0.77), (130.0, 1.6, None), (190.0, 1.0, 0.53), (201.0, 1.0, None)],
)
def test_a_share_is_of_the_sessions_peak(peak: float, varied: float, share: float | None) -> None:
    """A case at the ceiling of the same job. Nothing where the peak tests varied by more than 1.5,
    or the job's own ceiling is below half of the peak: it was disturbed."""
    moved = {"bandwidth": 100, "seconds": 1.0, "phases": {}}
    sample = {"write": moved, "ceilings": {"fpp": {"write": 100.0}}}
    known = SessionPeak(peak, "peak test", 3, varied, peak)
    (one,) = bottleneck.facts(document(samples=[sample]), None, {("fpp", "write"): known})
    assert one.of_ceiling == (share and pytest.approx(share, abs=0.005))
    assert bottleneck.causes(one) == []
    (alone,) = bottleneck.facts(document(samples=[sample]), None, {})
    assert [cause.kind for cause in bottleneck.causes(alone)] == ["storage"]


def test_where_nothing_is_planted_nothing_is_found() -> None:
    assert bottleneck.causes(facts()) == []


def test_small_calls_stand_beside_what_small_accesses_reach() -> None:
    sample = {"write": {"bandwidth": 64.0, "seconds": 2.0, "phases": {}}}
    known = SessionPeak(90_000, "peak test", 1, 1.0, 90_000)
    (one,) = bottleneck.facts(document(samples=[sample]), None, {("small", "write"): known})
    one.side, one.slowest = side("write", posix_calls=65536), {"POSIX": (1.8, 0)}
    (cause,) = bottleneck.causes(one)
    said = "65,536 calls moved 1,024 bytes each, 32,768 a second (accesses of 4 KiB at random "
    assert cause.says.startswith(f"{said}places reach 90,000); ")


def single_calls(p99: float, calls: int = 2000) -> dict[str, Any]:
    """A repeat of a second on 2 processes; the slowest spent 0.9 s in its calls."""
    slowest = {"process": 1, "host": "n0", "seconds": 0.9, "p50": 1e-4, "p99": p99}
    latency = {"calls": calls, "slowest": slowest}
    return {"write": {"latency": latency, "phases": {"write": {"mean": 0.9}}}}


PLANTED: dict[Kind, Callable[[], list[Cause]]] = {
    "exchange": lambda: bottleneck.causes(
        facts(side=side("write", collective=4), slowest={"POSIX": (0.3, 0), "MPI-IO": (0.9, 1)})
    ),
    "small calls": lambda: bottleneck.causes(facts(side=side("write", posix_calls=65536))),
    "slow calls": lambda: bottleneck.causes(
        facts(document=document(samples=[single_calls(0.04)], system={"processes": 2}))
    ),
    "metadata": lambda: bottleneck.causes(
        facts(phases={"create": (0.5, 0.5), "write": (0.2, 0.2), "close": (0.3, 0.3)},
              slowest={"POSIX": (0.19, 0), "MPI-IO": (0.19, 0)})
    ),
    "flush": lambda: bottleneck.causes(
        facts(phases={"write": (0.2, 0.2), "flush": (0.8, 0.8)},
              slowest={"POSIX": (0.2, 0), "MPI-IO": (0.2, 0)})
    ),
    "straggler": lambda: bottleneck.causes(
        facts(phases={"write": (1.0, 0.3)}, slowest={"POSIX": (0.95, 3), "MPI-IO": (0.96, 3)},
              mean={"POSIX": 0.25, "MPI-IO": 0.26})
    ),
    "cold reads": lambda: bottleneck.causes(
        facts("read", document=document(used={"caches": "dropped"}))
    ),
    "shared file": lambda: bottleneck.causes(
        facts(several=True, ceilings={"fpp": 640.0, "shared": 100.0})
    ),
    "library": lambda: bottleneck.causes(
        facts(slowest={"POSIX": (0.1, 0), "MPI-IO": (0.2, 0)})
    ),
    "storage": lambda: bottleneck.causes(facts(bandwidth=600.0)),
    "sieving": lambda: bottleneck.causes(
        facts(), ["data sieving read-modify-write (4096 bytes)"]
    ),
    "holes": lambda: bottleneck.causes(facts(), ["collective buffering holes (4096 bytes)"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize(("call", "scale"), [
    ("posix", "node"), ("mpiio:collective", "node"), ("mpiio:independent", "smoke"),
    ("hdf5:collective-metadata", "node"),
])  # fmt: skip
def test_no_remedy_compares_a_thing_with_itself(kind: Kind, call: str, scale: str) -> None:
    method, _, mode = call.partition(":")
    run = remedies.Run("S3d", "ram", scale, "mpich", "s3d", method, mode)
    told = remedies.remedy(run, Cause(kind, "write", 0.5, "write", "", "", ""))
    for words in map(str.split, told.commands):
        assert words[1] != "compare" or words[2] != words[3], told


@pytest.mark.parametrize(("kind", "share", "held"), [
    ("metadata", {"efficiency": 0.5, "low": None}, True),
    ("metadata", {"efficiency": None, "low": None}, False),
    ("metadata", None, True),
])  # fmt: skip
def test_no_advice_of_a_disturbed_run(
    kind: Kind, share: dict[str, float | None] | None, held: bool
) -> None:
    cause = Cause(kind, "write", 0.5, "write", "", "", "")
    found = answers._to_try((cause, remedies.remedy(RUN, cause)), share)
    assert found["held"].startswith(kind) == bool(found["held"]) == held


@pytest.mark.parametrize(
    ("seconds", "decided", "kind"),
    [(1.0, True, "storage"), (1.0, False, "flush"), (0.09, True, None), (0.09, False, None)],
)
def test_of_an_undecided_share_the_next_cause_is_advised(
    seconds: float, decided: bool, kind: Kind | None
) -> None:
    """And none, who was slow by a test neither, where a repeat was too short."""
    causes = [Cause(of, "write", 0.5, "write", "", "", "", chance=0.01)
              for of in ("storage", "shared file", "flush")]  # fmt: skip
    found = remedies.foremost([(facts(shortest=seconds), causes)], "write", decided)
    assert (found and found.kind) == kind
    assert remedies.foremost([(facts(shortest=seconds), causes)], "read", decided) is None


def test_the_shared_peak_does_not_disturb_the_other() -> None:
    """Locks make it uneven, or low beside a peak test."""
    moved = {"bandwidth": 90, "seconds": 1.0, "phases": {}}
    peak = SessionPeak(100.0, "peak test", 3, 1.0, 100.0)
    known: Peaks = {("fpp", "write"): peak, ("shared", "write"): peak}
    for shared in ([40, 40], [50, 90]):
        samples = [{"write": moved, "ceilings": {"fpp": {"write": 100}, "shared": {"write": one}}}
                   for one in shared]  # fmt: skip
        (one,) = bottleneck.facts(document(samples=samples), None, known)
        assert one.of_ceiling == pytest.approx(0.9)


def test_a_run_without_ceilings_has_the_sessions_peak() -> None:
    samples = [{"write": {"bandwidth": 90, "seconds": 1.0, "phases": {}}}]
    known: Peaks = {("fpp", "write"): SessionPeak(100.0, "peak test", 3, 1.0, 100.0)}
    (one,) = bottleneck.facts(document(samples=samples), None, known)
    assert one.of_ceiling == pytest.approx(0.9)


def test_every_cause_is_planted_once() -> None:
    assert set(PLANTED) == set(get_args(Kind))


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_cause_comes_first(kind: Kind) -> None:
    found = PLANTED[kind]()
    assert found[0].kind == kind, found
    assert bottleneck.LEAST <= found[0].share <= 1


def test_a_straggler_is_named() -> None:
    (found,) = PLANTED["straggler"]()
    assert (found.process, found.phase, found.layer) == (3, "write", "POSIX")
    assert "3.3 times the mean in write" in found.says


@pytest.mark.parametrize(("p99", "calls"), [(0.0009, 2000), (0.01, 2000), (0.04, 100)])
def test_calls_are_slow_if_few_take_long_and_much_of_the_time(p99: float, calls: int) -> None:
    """Of 1000 calls ten take 9 times the median, or 11 % of the time; 50 have no hundredth."""
    given = document(samples=[single_calls(p99, calls)], system={"processes": 2})
    assert bottleneck.causes(facts(document=given)) == []
    (found,) = PLANTED["slow calls"]()
    # 0.9 s less 1000 calls of the median.
    assert found.share == pytest.approx(0.8)
    assert found.says == "one call in 100 took 40.0 ms or more; the median call 100 \N{MICRO SIGN}s"


def test_a_straggler_outside_data_calls_is_not_named_by_them() -> None:
    held = {cause.kind: cause for cause in bottleneck.causes(
        facts(phases={"write": (0.1, 0.1), "close": (0.9, 0.2)}, slowest={"POSIX": (0.09, 3)},
              mean={"POSIX": 0.03}))}  # fmt: skip
    assert (held["straggler"].phase, held["straggler"].process) == ("close", None)


def test_the_parts_of_a_recorded_run_are_those_of_its_document() -> None:
    run = traced.load(LOGS / "mpich-holes")
    write = bottleneck.facts(run.document, run, {})[0]
    samples = run.document["samples"]
    total = sum(sample["write"]["seconds"] for sample in samples)
    written = sum(sample["write"]["phases"]["write"]["max"] for sample in samples)
    assert write.part("write") == pytest.approx(written / total)
    spent = {}
    for rank in range(2):
        spent[rank] = sum(
            work.writing for file in run.log.files if file.module == "MPI-IO"
            for work in file.ranks if work.rank == rank
        )  # fmt: skip
    assert write.slowest["MPI-IO"] == pytest.approx((max(spent.values()), write.rank("MPI-IO")))
    assert bottleneck.causes(write, run.judgement.reasons) == []  # its repeats take milliseconds
    write.shortest = bottleneck.SHORT
    found = {cause.kind: cause for cause in bottleneck.causes(write, run.judgement.reasons)}
    assert found["exchange"].layer == "MPI-IO"
    assert "480 collective" in found["exchange"].calls


def planted_run(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A recorded run whose document was changed, without its trace."""
    target = folder / "20261120T174318" / "local" / "host" / "mpich" / "S3d_0d1a48dc"
    shutil.copytree(LOGS / "mpich-collective-dxt", target)
    (target / "trace.darshan").unlink()
    data = json.loads((target / "result.json").read_text())
    for sample in data["samples"]:
        for direction in ("write", "read"):
            sample[direction]["seconds"] = 1.0
            for times in sample[direction]["phases"].values():
                times.update(min=0.01, mean=0.01, max=0.01)
    change(data)
    (target / "result.json").write_text(json.dumps(data))
    case = {"unique_name": "S3d_0d1a48dc", "fs": "ram", "scale": "smoke", "environ": "mpich",
            "ended": 1}  # fmt: skip
    (target / "case.json").write_text(json.dumps({"session": {}, "case": case}))
    return target


def _late(data: dict[str, Any]) -> None:
    for sample in data["samples"]:
        sample["write"]["phases"]["close"].update(min=0.1, mean=0.5, max=0.97)


def test_the_command_says_it_in_words(tmp_path: Path) -> None:
    planted_run(tmp_path, _late)
    done = run_analysis("why", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "s3d mpiio:collective ram smoke mpich, 2 processes" in done.stdout
    assert "not traced: which process, layer and calls is unknown" in done.stdout
    assert "1. metadata, up to 98 % of the time" in done.stdout
    assert "2. straggler, up to 47 % of the time" in done.stdout
    assert "read: " in done.stdout
    rows = json.loads(run_analysis("why", "--output", tmp_path, "--json").stdout)
    assert [row["kind"] for row in rows] == ["metadata", "straggler"]


def test_why_argues_from_the_peak_of_the_session(tmp_path: Path) -> None:
    """300 MiB/s, with 800 beside it and 1500 beside two others; and where the report is gone."""
    call = (s3d("mpiio:collective"), "openmpi")
    others = [(s3d("posix"), stack) for stack in ("openmpi", "mpich")]
    session = made.session(tmp_path, {call: [300.0], **{key: [100.0] for key in others}})

    def fast(document: dict[str, Any]) -> None:
        document["samples"][0]["ceilings"]["fpp"].update(write=1500.0, read=1500.0)

    for other in others:
        session.edit_document(*other, fast)
    folder = session.document(*call).parent
    assert "write: 300 MiB/s, 20 % of the peak; " in run_analysis("why", folder).stdout
    session.report.unlink()
    assert "write: 300 MiB/s, 38 % of the peak; " in run_analysis("why", folder).stdout


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    done = run_analysis("why", tmp_path)
    assert done.returncode == 3
    assert "result.json" in done.stderr
    assert run_analysis("why", "--output", tmp_path).returncode == 3


RUN = remedies.Run("S3d", "ram", "smoke", "mpich", "s3d", "mpiio", "collective")


@pytest.mark.parametrize("kind", get_args(Kind))
def test_each_cause_has_a_pair_that_the_analysis_takes(kind: Kind) -> None:
    """Its last command compares what the ones before it measured; both are
    commands that a user can type."""
    told = remedies.remedy(RUN, Cause(kind, "write", 0.5, "write", "", "", ""))
    *measured, compared = told.commands
    assert all(command.startswith("iogauge run -n ") for command in measured)
    assert len(measured) in (1, 2)
    assert len(set(told.commands)) == len(told.commands)
    words = shlex.split(compared)
    assert words[:2] == ["iogauge", "compare"]
    done = run_analysis(*words[1:], "--store", "/nowhere")
    assert done.returncode == 3, done.stderr  # and not 2: the words are right
    assert "/nowhere" in done.stderr


def test_only_data_calls_to_the_runs_own_files_count() -> None:
    """By POSIX and MPI-IO; not a ceiling's calls, nor another layer's."""
    document = {"files": [{"path": "/fs/a"}], "file_count": 1}
    files = [
        SimpleNamespace(module=module, path=path, ranks=(Work(1, 8, 8, 9.0, writing=seconds),))
        for module, path, seconds in (
            ("POSIX", "/fs/a", 0.1), ("POSIX", "/fs/ceiling", 3.0), ("STDIO", "/fs/a", 0.5),
        )
    ]  # fmt: skip
    log = SimpleNamespace(files=files, processes=2)
    ledger = SimpleNamespace(side=lambda _: None)
    traced: Any = SimpleNamespace(ledger=ledger, document=document, log=log)
    found = facts(slowest={}, mean={})
    bottleneck._add_trace(found, traced)
    assert found.slowest == {"POSIX": (0.1, 1)}
    assert found.mean == {"POSIX": 0.05}


def test_of_a_run_without_a_case_its_folder_tells(tmp_path: Path) -> None:
    """The folders above are partition and stack, the last name is the test with its hash."""
    folder = tmp_path / "local" / "host" / "openmpi" / "S3d_b368d4ee"
    folder.mkdir(parents=True)
    right = remedies.Run("S3d", "", "", "openmpi", "s3d", "mpiio", "collective")
    assert remedies.run_of(folder, document()) == right
    case = {"name": "Ior %fs=ram", "fs": "ram", "scale": "smoke", "environ": "mpich"}
    (folder / "case.json").write_text(json.dumps({"session": {}, "case": {**case, "ended": 1.0}}))
    right = remedies.Run("Ior", "ram", "smoke", "mpich", "s3d", "mpiio", "collective")
    assert remedies.run_of(folder, document()) == right
    posix = document(asked={"pattern": "ior", "method": "posix", "mode": None})
    assert remedies.run_of(folder, posix).mode == ""
    named = {"localhpc": "localhpc", "local": "", "dawn": "'/a site/dawn.py'"}
    for system, site in named.items():
        command = "reframe -C '/a site/dawn.py' -r" if system == "dawn" else "reframe -r"
        whole = {"session": {"cmdline": command}, "case": {**case, "ended": 1.0, "system": system}}
        (folder / "case.json").write_text(json.dumps(whole))
        assert remedies.run_of(folder, document()).site == site


@pytest.mark.parametrize(("count", "calls"), [(1, "1 file"), (2, "2 files")])
def test_metadata_counts_its_files(count: int, calls: str) -> None:
    (cause,) = bottleneck.causes(
        facts(
            phases={"create": (0.8, 0.8), "write": (0.2, 0.2)}, document=document(file_count=count)
        )
    )
    assert (cause.kind, cause.calls) == ("metadata", calls)
