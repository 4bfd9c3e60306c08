# SPDX-License-Identifier: BSD-3-Clause
"""What the runs of a certificate say of a setting, and its page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from iogauge.analysis.judge import certificate, known_defects
from iogauge.analysis.pages import certificate_text
from iogauge.cli.certify import load
from iogauge.common.hints import parse_hints
from iogauge.common.paths import ROOT

KEPT = ROOT / "references" / "certificate.json"


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


def test_a_failure_says_which_setting_was_right_instead() -> None:
    found = judged(
        rows("default", 10, bad=5), rows("default", 4, bad=2, why="again"),
        rows("sieving=off", 9), rows("none", 9, bad=2, method="posix", mode=""),
    )  # fmt: skip
    said = {line.partition(" in ")[0]: line for line in certificate_text.faults(found).splitlines()}
    instead = {words: line.rpartition("; ")[2] for words, line in said.items()}
    assert instead["made: wrong with none"] == "it does not use MPI-IO, so no setting helps"
    assert instead["made: wrong with default"] == "right with sieving=off in 9 of 9"
    assert said["made: wrong with none"].startswith("made: wrong with none in 2 of 9 runs; ")


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
    assert max(map(len, "".join(page.split("```")[::2]).splitlines())) <= 120


def reports_of(version: str) -> list[known_defects.Report]:
    return [one for one in known_defects.reports() if one.concerns(version)]


def test_reports_concern_the_versions_that_they_name() -> None:
    assert [one.kind for one in reports_of("Open MPI v5.0.5")] == [
        "wrong",
        "",
        "wrong",
        "crash",
    ]
    for early in ("4.1.4", "4.1.6"):  # each series has its own mend
        assert [one.kind for one in reports_of(f"Open MPI v{early}")] == ["wrong", "crash"]
    assert [one.kind for one in reports_of("Open MPI v4.1.7")] == ["crash"]
    assert [one.kind for one in reports_of("Open MPI v5.0.6")] == ["wrong", "crash"]
    assert reports_of("MPICH Version: 4.0.2") == []
    # What one pattern alone shows is not counted for the other report of wrong bytes.
    locks, _, columns, _ = reports_of("Open MPI v5.0.5")
    of_extents = rows("default", 6, bad=3, pattern="extents")
    told = rows("default", 4, bad=4, pattern="extents", why="told")
    (both,) = judged(rows("default", 5, bad=2), of_extents, told).stacks
    assert (locks.seen(both).bad, columns.seen(both)) == (2, known_defects.Seen(7, 15, 4, 4))
    crashes = [{**row, "outcome": "crash"} for row in rows("io=romio341", 7, pattern="extents")]
    (stack,) = judged(rows("default", 5, bad=2), crashes).stacks
    assert reports_of("Open MPI v5.0.6")[-1].seen(stack) == known_defects.Seen(7, 7, 0, 0)


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
