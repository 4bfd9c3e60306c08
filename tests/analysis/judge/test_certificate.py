# SPDX-License-Identifier: BSD-3-Clause
"""The certificate: which runs are planned, what a run is taken for, and what many of them say."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.judge import certificate, known_defects
from iogauge.analysis.pages import certificate_text
from iogauge.cli.certify import load
from iogauge.cli.main import main
from iogauge.common.hints import parse_hints
from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from iogauge.measure.certify import plan, session, settings, stacks
from iogauge.measure.certify import run as one_run
from iogauge.measure.certify.stacks import Call, Candidate
from iogauge.measure.iokernel import Ended

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
    "made", Path("iokernel"), ("mpiexec",), {}, 4, "why", CALLS, settings.of_openmpi(INFO), True
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
    names = [settings.name_of(one) for one in STACK.settings]
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
    assert settings.hints_of(setting, is_ompio) == right


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
    assert set(tried) == {settings.name_of(one) for one in STACK.settings}
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
    """Where the stack has the setting: MPICH has no OMPIO. Each run has a seed of its own."""
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
    mpich = replace(stack, settings=settings.romio(), is_ompio=False)
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


def case_of(processes: int = 4) -> plan.Case:
    setting = {"fcoll": "vulcan", "aggregators": "2"}
    return plan.Case(plan.SIZES["s3d"][2], setting, processes, "ram", "made", MPIIO, 5)


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


def record_of(case: plan.Case, outcome: str) -> dict[str, Any]:
    return {
        **dict(zip(certificate.KEY, case.key, strict=True)),
        "size": 0, "why": case.why, "outcome": outcome,
    }  # fmt: skip


def test_what_was_run_already_is_not_run_again(tmp_path: Path) -> None:
    runs = session.Runs.of(tmp_path / certificate.RUNS)
    queue = session.Queue(STACK, ("ram",), 1, runs)
    first = queue.next()
    bad = record_of(first, "wrong")
    runs.add(bad)
    queue.look(first, bad)
    second = queue.next()
    runs.add(record_of(second, "right"))
    with runs.file.open("a") as out:
        out.write('{"stack": "cut sho')
    later = session.Runs.of(runs.file)
    assert len(later.records) == 2
    queue = session.Queue(STACK, ("ram",), 1, later)
    keys = [queue.next().key for _ in range(40)]
    assert first.key not in keys and second.key not in keys
    # It also remembers that the first one was wrong, and looks after it: not more than its share.
    after = sum(key in {one.key for one in plan.follow_ups(first, STACK)} for key in keys)
    assert 5 < after <= session.SHARE * 44


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
        (1, {"status": "hung"}, "nothing has moved for 30 s", "hang"),
    ],
)
def test_what_a_run_is_taken_for(
    status: int | None, document: dict[str, Any] | None, said: str, outcome: str
) -> None:
    found, words = one_run.judge(Ended((), status, "", said, 90.0, document))
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
    found = one_run.execute(made_stack(tmp_path, script), case_of(), tmp_path)
    assert (found["outcome"], found["says"]) == ("wrong", "4 elements, the first u[0, 1]")
    variables = "OMPI_MCA_fcoll=vulcan OMPI_MCA_io_ompio_num_aggregators=2 "
    assert variables in found["command"]
    assert "-n 4 iokernel s3d --grid 24x20x16 --method mpiio" in found["command"]
    assert [path.name for path in tmp_path.iterdir()] == ["launch"]


def test_a_run_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_run, "SECONDS", 0.3)
    found = one_run.execute(made_stack(tmp_path, "sleep 600"), case_of(), tmp_path)
    assert found["outcome"] == "late"


def rows(setting: str, count: int, bad: int = 0, processes: int = 4, **more: Any) -> list[Any]:
    """Runs of one call, the first of them wrong."""
    base = {
        "stack": "made", "pattern": "s3d", "method": "mpiio", "mode": "collective",
        "options": "", "setting": setting, "processes": processes, "fs": "ram", "size": 1,
        "why": "plan", "command": f"run {processes}", **more,
    }  # fmt: skip
    return [
        {**base, "seed": seed, "outcome": "wrong" if seed < bad else "right"}
        for seed in range(count)
    ]


def judged(*of: list[Any], version: str = "Open MPI v9.0") -> certificate.Certificate:
    names: dict[str, Any] = {
        row["setting"]: {"hints": {}, "variables": {}} for part in of for row in part
    }
    names["sieving=off"] = {"hints": {"fbtl_posix_write_datasieving": "0"}, "variables": {}}
    facts = {
        "versions": {"mpi": version}, "most_processes": 4, "limit": "why", "calls": 1,
        "settings": names,
    }  # fmt: skip
    about = {"date": "2026-11-22", "seeds": [1], "machine": "made", "fs": {"ram": "tmpfs"}}
    return certificate.of_runs(
        {**about, "stacks": {"made": facts}}, [row for part in of for row in part]
    )


def test_a_setting_is_certified_after_enough_right_runs_of_all_that_hold_it() -> None:
    found = judged(rows("default", 49), rows("sieving=off", 30), rows("fcoll=a sieving=off", 20))
    tried = {one.setting: one for one in found.stacks[0].tried}
    assert (tried["default"].runs, tried["default"].certified) == (49, False)
    assert (tried["sieving=off"].runs, tried["sieving=off"].certified) == (50, True)
    assert found.stacks[0].safe == "sieving=off"
    found = judged(rows("sieving=off", 60), rows("fcoll=a sieving=off", 60, bad=1))
    assert found.stacks[0].safe == ""


def test_the_default_is_not_safe_where_a_setting_like_it_wrote_wrong_bytes() -> None:
    """The library chooses what is not set, and may choose that."""
    rest = (rows("default", 60), rows("sieving=off", 50))
    assert judged(*rest).stacks[0].safe == "default"
    assert judged(*rest, rows("aggregators=2", 9, bad=1)).stacks[0].safe == "sieving=off"
    assert judged(*rest, rows("io=romio341", 9, bad=1)).stacks[0].safe == "default"


def test_what_was_ended_says_nothing() -> None:
    late = [{**row, "outcome": "late"} for row in rows("default", 9)]
    (stack,) = judged(rows("default", 49), late).stacks
    (tried,) = (one for one in stack.tried if one.setting == "default")
    assert (tried.runs, tried.certified, stack.faults, stack.outcomes["late"]) == (49, False, [], 9)


def test_romio_within_open_mpi_is_another_mpi_io() -> None:
    assert certificate.holds("fcoll=a sieving=off", "sieving=off")
    assert not certificate.holds("io=romio321 sieving=off", "sieving=off")
    assert certificate.holds("io=romio321 sieving=off", "io=romio321")
    assert not certificate.holds("sieving=off", "default")
    assert not certificate.holds("none", "default")


def test_what_is_wrong_has_its_smallest_case_and_the_nearest_setting_that_was_right() -> None:
    found = judged(
        rows("default", 10, bad=3, processes=16),
        rows("default", 5, bad=1, processes=8),
        rows("default", 4, bad=2, processes=16, why="again"),
        rows("sieving=off", 9, processes=16),
        rows("fcoll=a", 9, bad=1, processes=16),
        rows("fcoll=a aggregators=1", 30, processes=16),
        rows("aggregators=1", 30, processes=4),  # with fewer processes it proves nothing
    )
    (fault, _) = found.stacks[0].faults
    assert (fault.setting, fault.kind, fault.bad, fault.runs) == ("default", "wrong", 6, 19)
    assert (fault.again, fault.again_bad) == (4, 2)
    assert fault.smallest["processes"] == 8
    assert (fault.instead, fault.instead_runs) == ("sieving=off", 9)
    assert fault.chance == pytest.approx(0.5**9)


def test_only_what_was_certified_and_is_not_right_now_is_new() -> None:
    before = judged(rows("default", 9, bad=3), rows("sieving=off", 50))
    same = certificate.news(judged(rows("default", 9, bad=9)), before)
    assert (same.new, len(same.notes)) == ([], 1)
    worse = certificate.news(judged(rows("fcoll=a sieving=off", 9, bad=1)), before)
    assert len(worse.new) == 1 and "run 4" in worse.new[0]
    # What it says of the default it says of what differs in one thing only.
    near = certificate.news(judged(rows("sieving=off", 9, bad=1)), before)
    assert (near.new, len(near.notes)) == ([], 1)
    crashed = [{**row, "outcome": "crash"} for row in rows("fcoll=a sieving=off", 1, bad=1)]
    again = rows("fcoll=a sieving=off", 4, why="again")
    assert len(certificate.news(judged(crashed), before).new) == 1
    assert certificate.news(judged(crashed, again), before).new == []
    other = certificate.news(judged(rows("sieving=off", 9, bad=1), version="10.0"), before)
    assert other.new == [] and "not in the certificate" in other.notes[0]


def test_a_kept_certificate_is_the_same_and_its_page_has_hints_for_a_site() -> None:
    found = judged(rows("default", 20, bad=3), rows("sieving=off", 50), version="Open MPI v5.0.5")
    assert certificate.parse(json.loads(certificate.dump(found))) == found
    page = certificate_text.page(found)
    (hints,) = re.findall(r'^"hints": (.*)$', page, re.MULTILINE)
    words = " ".join(f"{key}={value}" for key, value in json.loads(hints).items())
    assert parse_hints(words) == {"fbtl_posix_write_datasieving": "0"}
    assert "Open MPI v5.0.5 (made) wrong in 3 of 70" in " ".join(page.split())
    assert max(map(len, page.splitlines())) <= 120


def test_reports_concern_the_versions_that_they_name() -> None:
    assert [one.kind for one in known_defects.of("Open MPI v5.0.5")] == [
        "wrong",
        "",
        "wrong",
        "crash",
    ]
    for early in ("4.1.4", "4.1.6"):  # each series has its own mend
        assert [one.kind for one in known_defects.of(f"Open MPI v{early}")] == ["wrong", "crash"]
    assert [one.kind for one in known_defects.of("Open MPI v4.1.7")] == ["crash"]
    assert [one.kind for one in known_defects.of("Open MPI v5.0.6")] == ["wrong", "crash"]
    assert known_defects.of("MPICH Version: 4.0.2") == []
    # What one pattern alone shows is not counted for the other report of wrong bytes.
    locks, _, columns, _ = known_defects.of("Open MPI v5.0.5")
    of_extents = rows("default", 6, bad=3, pattern="extents")
    told = rows("default", 4, bad=4, pattern="extents", why="told")
    (both,) = judged(rows("default", 5, bad=2), of_extents, told).stacks
    assert (locks.seen(both).bad, columns.seen(both)) == (2, known_defects.Seen(7, 15, 4, 4))
    crashes = [{**row, "outcome": "crash"} for row in rows("io=romio341", 7, pattern="extents")]
    (stack,) = judged(rows("default", 5, bad=2), crashes).stacks
    assert known_defects.of("Open MPI v5.0.6")[-1].seen(stack) == known_defects.Seen(7, 7, 0, 0)


def test_the_short_page_says_what_the_kept_certificate_says() -> None:
    page = (ROOT / "docs" / "certificate.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert f"{sum(int(row[2]) for row in rows):,} runs" in page
    kept = load(KEPT).stacks
    assert [stack.name for stack in kept] == ["openmpi", "trixie-openmpi", "mpich", "trixie-mpich"]
    for stack in kept:
        version = " ".join(stack.versions["mpi"].replace("Version:", "").split())
        counts = [stack.outcomes[kind] for kind in ("right", "wrong", "crash", "late")]
        row = (f"`{stack.name}`", version, stack.runs, *counts, f"`{stack.safe}`")
        assert [*map(str, row)] in rows
    assert f'"hints": {json.dumps(kept[0].hints)}' in page


def test_a_certificate_has_a_line_for_each_setting_and_each_failure() -> None:
    text = KEPT.read_text()
    kept = load(KEPT)
    assert certificate.dump(kept) == text
    lines = sum(len(stack.tried) + len(stack.faults) for stack in kept.stacks)
    assert text.count('\n    {"') == 0 and text.count('\n    { "setting": ') == lines


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stack", ["openmpi", "mpich"])
def test_a_certified_stack_is_still_as_certified(
    stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it says is wrong may be wrong; what it certifies may not."""
    if why := kernels.missing(stack):
        pytest.skip(why)
    if not (kernels.test_folder(stack) / "iokernel").exists():
        pytest.skip(f"the kernels of {stack} are not built: make test-kernels-{stack}")
    assert shutil.which("cmake")
    words = ["certify", "--stack", stack, "--kernels", ".local/build/test-{stack}", "--runs", "25"]
    words += ["--minutes", "0.5", "--jobs", "2", "--seed", "11", "--out", str(tmp_path)]
    status = main([*words, "--check", str(KEPT)])
    said = capsys.readouterr().out
    assert status == 0, said
    assert "not in the certificate" not in said, said
