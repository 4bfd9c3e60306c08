# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a certificate: which are planned, and what each is taken for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.errors import UsageError
from iogauge.analysis.judge import certificate
from iogauge.cli.main import main
from iogauge.common import processes
from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from iogauge.measure.certify import plan, recorded, stacks
from iogauge.measure.certify.stacks import Call, Candidate
from iogauge.measure.iokernel import Ended
from reframe_tests.machine.leftovers import MARKER
from tests.ctest import mpi_end

KEPT = ROOT / "references" / "certificate.json"
INFO = """\
                 MCA iof: tool (MCA v2.1.0, API v2.0.0, Component v4.1.4)
               MCA fcoll: vulcan (MCA v2.1.0, API v2.0.0, Component v4.1.4)
               MCA fcoll: two_phase (MCA v2.1.0, API v2.0.0, Component v4.1.4)
                  MCA io: romio321 (MCA v2.1.0, API v2.0.0, Component v4.1.4)
                  MCA io: ompio (MCA v2.1.0, API v2.0.0, Component v4.1.4)
"""
MPIIO = Call("s3d", "mpiio", "collective")
CALLS = (
    MPIIO,
    Call("weather", "mpiio", "independent"),
    Call("s3d", "ioserver", "mpiio", ("--inner", "mpiio")),
    Call("s3d", "posix", "", (), False),
    Call("cgns-structured", "cgns", "serial", (), False, True),
)
STACK = Candidate(
    "made", Path("iokernel"), ("mpiexec",), {}, 4, "why", CALLS, stacks.of_openmpi(INFO), True
)
RIGHT: dict[str, Any] = {
    "status": "ok", "verification": {"verdict": "verified", "elements": 9, "mismatches": 0},
}  # fmt: skip
FIRST = {"dataset": "u", "index": [0, 1]}
WRONG: dict[str, Any] = {
    "status": "failed",
    "verification": {"verdict": "mismatch", "elements": 9, "mismatches": 4, "first": FIRST},
}
NOTHING: dict[str, Any] = {
    "status": "ok", "verification": {"verdict": "verified", "elements": 0, "mismatches": 0},
}  # fmt: skip


def test_settings_are_all_combinations_of_what_the_build_has() -> None:
    names = [stacks.name_of(one) for one in STACK.settings]
    assert len(set(names)) == len(names)
    # none and two components, none and three numbers, with and without; and ROMIO's own.
    of_romio = [name for name in names if "io=romio321" in name]
    assert (len(names) - len(of_romio), len(of_romio)) == (3 * 4 * 2, 3 * 3 + 3 * 3)
    assert {"default", "fcoll=two_phase aggregators=4 sieving=off", "io=romio321"} <= set(names)


@pytest.mark.parametrize(
    ("setting", "is_ompio", "right"),
    [
        ({}, True, {}),
        (
            {"fcoll": "vulcan", "aggregators": "2"}, True,
            {"fcoll": "vulcan", "io_ompio_num_aggregators": "2"},
        ),
        ({"io": "romio341", "sieving": "off"}, True,
         {"romio_ds_write": "disable", "romio_ds_read": "disable"}),
        ({"buffering": "on", "aggregators": "4"}, False,
         {"romio_cb_write": "enable", "romio_cb_read": "enable", "cb_nodes": "4",
          "cb_config_list": "*:4"}),
    ],
)  # fmt: skip
def test_a_setting_is_hints_of_the_library_that_takes_them(
    setting: dict[str, str], is_ompio: bool, right: dict[str, str]
) -> None:
    assert stacks.hints_of(setting, is_ompio) == right


def test_a_short_plan_samples_everything_evenly_and_is_the_same_again() -> None:
    cases = list(islice(plan.cases(STACK, ("ram", "disk"), 7), 120))
    assert all(one.why == "plan" for one in cases)
    assert [one.key for one in cases] == [
        one.key for one in islice(plan.cases(STACK, ("ram", "disk"), 7), 120)
    ]
    assert [one.key for one in cases] != [
        one.key for one in islice(plan.cases(STACK, ("ram", "disk"), 8), 120)
    ]
    assert {one.call for one in cases} == set(CALLS)
    through = [one for one in cases if one.call.through_mpi_io]
    tried = Counter(one.setting_name for one in through)
    assert set(tried) == {stacks.name_of(one) for one in STACK.settings}
    default = tried.pop(certificate.DEFAULT)
    assert max(tried.values()) - min(tried.values()) <= 1
    assert default > 4 * max(tried.values())
    places = Counter(one.fs for one in cases)
    assert abs(places["ram"] - places["disk"]) <= 1
    for one in cases:
        assert one.processes in STACK.counts
        assert not one.call.served or one.processes > 1
        assert not one.call.one_process or one.processes == 1
        assert one.call.through_mpi_io or one.setting_name == certificate.NONE


def test_what_upstream_was_told_comes_early() -> None:
    """Where the stack has the setting: MPICH has no OMPIO. Each run has a different seed."""
    amr, columns = (Call(one, "mpiio", "collective") for one in ("ramses-amr", "extents"))
    stack = replace(STACK, calls=[*CALLS, amr, columns], most=16)
    first = list(islice(plan.cases(stack, ("ram", "disk"), 7), 190))
    assert [one.why for one in first[:6]] == ["told", "plan"] * 3
    told = [one for one in first if one.why == "told"]
    instead = {one.key: one.setting_name for one in first if one.why == "instead"}
    assert set(instead.values()) == {"aggregators=2 sieving=off", "sieving=off"}
    assert len(instead) == sum(2 * one.runs for one in plan.TOLD)
    assert {(one.call, one.setting_name, one.processes, one.fs) for one in told} == {
        (amr, "aggregators=2", 4, "disk"), (amr, "default", 16, "disk"),
        (columns, "default", 4, "disk"),
    }  # fmt: skip
    assert len({one.key for one in told}) == sum(one.runs for one in plan.TOLD)
    assert [plan.rank(amr, one.options) for one in told][:: plan.TOLD[0].runs][:2] == [3, 4]
    mpich = replace(stack, settings=stacks.romio(), is_ompio=False)
    for other, places in ((mpich, ("ram", "disk")), (stack, ("ram",))):
        assert all(one.why == "plan" for one in islice(plan.cases(other, places, 7), 30))


def test_a_size_is_one_that_the_method_takes() -> None:
    shared = Call("ramses-amr", "mpiio", "collective")
    own = replace(shared, method="posix", mode="", own_files=True)
    assert any("--layout" in options for options in plan.sizes(shared))
    assert plan.sizes(own) and not any("--layout" in options for options in plan.sizes(own))


def test_a_method_says_whether_each_process_has_a_file_of_its_own() -> None:
    """Else posix is told the order of a shared file, and refuses it: no fault of a stack."""
    names = {"posix": True, "mpiio": False}
    methods = [
        {"name": name, "modes": [], "options": {}, "moves_nothing": False, "file_per_process": own}
        for name, own in names.items()
    ]
    cross = [{"pattern": "ramses-amr", "method": name, "ok": True} for name in names]
    found = stacks.calls({"methods": methods, "modes": [], "cross": cross})
    assert {one.method: one.own_files for one in found} == names


def case_of(processes: int = 4) -> plan.PlannedRun:
    setting = {"fcoll": "vulcan", "aggregators": "2"}
    return plan.PlannedRun(plan.SIZES["s3d"][2], setting, processes, "ram", "made", MPIIO, 5)


def test_what_was_not_right_is_run_again_smaller_and_otherwise() -> None:
    found = plan.follow_ups(case_of(), STACK)
    by_why = Counter(one.why for one in found)
    again = [one for one in found if one.why == "again"]
    assert len({one.seed for one in again} - {5}) == by_why["again"] == plan.AGAIN
    smaller = [one for one in found if one.why == "smaller"]
    assert {one.processes for one in smaller} == {1, 2, 3, 4}
    assert {one.options for one in smaller} == set(plan.SIZES["s3d"])
    names = {one.setting_name for one in found if one.why == "instead"}
    assert names == {
        "default", "aggregators=2", "fcoll=vulcan", "fcoll=two_phase aggregators=2",
        "fcoll=vulcan aggregators=1", "fcoll=vulcan aggregators=4",
        "fcoll=vulcan aggregators=2 sieving=off",
    }  # fmt: skip


def record_of(case: plan.PlannedRun, outcome: str) -> dict[str, Any]:
    return {
        **dict(zip(certificate.KEY, case.key, strict=True)),
        "size": 0, "why": case.why, "outcome": outcome,
    }  # fmt: skip


def test_what_was_run_already_is_not_run_again(tmp_path: Path) -> None:
    runs = recorded.Runs.of(tmp_path / certificate.RUNS)
    queue = recorded.Queue(STACK, ("ram",), 1, runs)
    first = queue.next()
    bad = record_of(first, "wrong")
    runs.add(bad)
    queue.look(first, bad)
    second = queue.next()
    runs.add(record_of(second, "right"))
    with runs.file.open("a") as out:
        out.write('{"stack": "cut sho')
    later = recorded.Runs.of(runs.file)
    assert len(later.records) == 2
    queue = recorded.Queue(STACK, ("ram",), 1, later)
    keys = []
    for _ in range(40):
        keys.append(queue.next().key)
        # Each follow-up began below the share, not only all of them together.
        assert queue.made["after"] - 1 < recorded.SHARE * queue.made.total()
    assert first.key not in keys and second.key not in keys
    # It also remembers that the first one was wrong, and looks after it: not more than its share.
    after = sum(key in {one.key for one in plan.follow_ups(first, STACK)} for key in keys)
    assert 5 < after <= recorded.SHARE * 44


@pytest.mark.parametrize(
    ("status", "document", "said", "outcome"),
    [
        (0, RIGHT, "", "right"),
        (1, WRONG, "", "wrong"),
        (0, WRONG, "", "wrong"),  # a launcher that drops the status
        (0, NOTHING, "", "error"),  # says that it is verified, and compared nothing
        (1, RIGHT, "", "error"),
        (0, None, "", "error"),
        (0, {}, "", "error"),
        (1, None, "iokernel: error: no space", "error"),
        (1, RIGHT, "iokernel: error: process 1: MPI crashed in MPI_Finalize", "crash"),
        (139, None, "", "crash"),
        (None, None, "", "late"),
        (1, {"status": "hung"}, "no progress for 30 s", "hang"),
    ],
)
def test_what_a_run_is_taken_for(
    status: int | None, document: dict[str, Any] | None, said: str, outcome: str
) -> None:
    found, words = recorded.judge(Ended((), status, "", said, 90.0, document))
    assert found == outcome
    assert bool(words) == (outcome != "right")


def made_stack(folder: Path, script: str) -> Candidate:
    """Its launcher is a script, which gets all words of a run."""
    launcher = folder / "launch"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    return replace(STACK, launch=(str(launcher),))


DOCUMENT = "for word; do last=$word; done; printf %s '{document}' > \"$last\"; exit {status}"


def test_a_run_that_lies_is_wrong_and_says_how_to_see_it_again(tmp_path: Path) -> None:
    script = DOCUMENT.format(document=json.dumps(WRONG), status=0)
    found = recorded.execute(made_stack(tmp_path, script), case_of(), tmp_path)
    assert (found["outcome"], found["says"]) == ("wrong", "4 elements, the first u[0, 1]")
    variables = "OMPI_MCA_fcoll=vulcan OMPI_MCA_io_ompio_num_aggregators=2 "
    assert variables in found["command"]
    assert "-n 4 iokernel s3d --grid 24x20x16 --method mpiio" in found["command"]
    assert [path.name for path in tmp_path.iterdir()] == ["launch"]


def test_what_a_killed_run_leaves_has_an_owner(tmp_path: Path) -> None:
    """So that the next session removes it: its folder has the marker of this process."""
    script = 'for word; do [ "$last" = --dir ] && ls -a "$word/.." > "$0.seen"; last=$word; done'
    recorded.execute(made_stack(tmp_path, script), case_of(), tmp_path)
    assert MARKER in (tmp_path / "launch.seen").read_text().splitlines()


def test_a_run_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "SECONDS", 0.3)
    found = recorded.execute(made_stack(tmp_path, "sleep 600"), case_of(), tmp_path)
    assert found["outcome"] == "late"


def test_the_table_has_what_each_stack_is_safe_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = json.loads(KEPT.read_text())
    kept["stacks"][0]["safe"] = ""
    (tmp_path / "none-safe.json").write_text(json.dumps(kept))
    for path in (KEPT, tmp_path / "none-safe.json"):
        assert main(["certify", "--show", str(path), "--json"]) == 0
        shown = {row["stack"]: row for row in json.loads(capsys.readouterr().out)}
        for stack in json.loads(path.read_text())["stacks"]:
            row = shown.pop(stack["name"])
            assert row["safe"] == (stack["safe"] or None)
            assert row["runs"] == sum(stack["outcomes"].values())
        assert not shown


@pytest.mark.parametrize(
    ("words", "advice"), [("--fs ram,disk", ""), ("--fs ram disk", "commas now: --fs ram,disk\n")]
)
def test_names_are_separated_by_commas(
    words: str, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until 0.4 by blanks, too."""
    asked: list[recorded.Wanted] = []

    def make(wanted: recorded.Wanted, folder: Path) -> list[Any]:
        asked.append(wanted)
        raise UsageError("enough")

    monkeypatch.setattr(recorded, "make", make)
    both = ["--patterns", "s3d,ior", "--kernels", "none", *words.split()]
    assert main(["certify", *both]) == 2
    assert asked[0].fs == ["ram", "disk"] and asked[0].patterns == ["s3d", "ior"]
    assert advice in capsys.readouterr().err
    assert main(["certify", "--fs", "ram,disc"]) == 2 and len(asked) == 1
    assert "did you mean 'disk'?" in capsys.readouterr().err


def test_a_later_call_goes_on_or_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And removes what a killed one left, and says so."""
    stack = made_stack(tmp_path, DOCUMENT.format(document=json.dumps(RIGHT), status=0))
    place, folder = tmp_path / "place", tmp_path / "certificate"
    monkeypatch.setattr(recorded, "prepare", lambda name, kernels: stack)
    monkeypatch.setattr(recorded.sites, "local_file_systems", lambda: {"ram": {"path": place}})
    left = place / "iogauge.0123abcd"
    left.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as killed:
        (left / MARKER).write_text(f"{processes.identity(killed.pid)} -\n")
        killed.kill()

    def runs(restart: bool) -> int:
        wanted = recorded.Wanted(["made"], [], ["ram"], 5, 3, 1, 7, "none", restart)
        found = [
            tuple(run[name] for name in certificate.KEY) for run in recorded.make(wanted, folder)
        ]
        assert len(set(found)) == len(found), "a run was repeated"
        assert len((folder / certificate.RUNS).read_text().splitlines()) == len(found)
        return len(found)

    assert [runs(False), runs(False), runs(True)] == [3, 6, 3]
    assert list(place.iterdir()) == []
    assert f"certify: removed {left}: " in capsys.readouterr().err
    assert json.loads((folder / certificate.ABOUT).read_text())["seeds"] == [7]


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["openmpi", "mpich"])
def test_a_certified_stack_is_still_as_certified(
    stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is wrong may be wrong; what it certifies may not."""
    monkeypatch.setattr(recorded, "SECONDS", 600)  # a run that is late on a loaded machine is none
    if why := kernels.lacking(stack):
        pytest.skip(why)
    if not (kernels.test_folder(stack) / "iokernel").exists():
        pytest.skip(f"the kernels of {stack} are not built: make test-kernels-{stack}")
    assert shutil.which("cmake")
    words = ["certify", "--stack", stack, "--kernels", ".local/build/test-{stack}", "--runs", "25"]
    words += ["--minutes", "0.5", "--jobs", "2", "--seed", "11", "--out", str(tmp_path)]

    def certify() -> tuple[int, str]:
        return main([*words, "--check", str(KEPT), "--restart"]), capsys.readouterr().out

    def crashed(_: tuple[int, str]) -> bool:
        return mpi_end.kernel_blames_mpi((tmp_path / certificate.RUNS).read_text())

    status, said = mpi_end.twice_at_most(certify, crashed)
    assert status == 0, said
    assert "not in the certificate" not in said, said
