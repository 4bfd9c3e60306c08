# SPDX-License-Identifier: BSD-3-Clause
"""What `summary` answers, from made sessions whose answers are known, and its first screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.store.ingest import ingest
from tests import analysis_made as made
from tests.analysis_recorded import Recorded, run_analysis, s3d
from tests.cli.test_analysis_terminal import on_a_terminal

MPIIO, POSIX, SHARED = s3d("mpiio:collective"), s3d("posix"), s3d("posix-shared")
BASE = [103.0, 100, 105, 101, 106, 102, 104]
TURNS = [700.0, 710, 700, 710, 700, 710, 705]  # and OTHERS: now one is faster, now the other
OTHERS = [690.0, 720, 690, 720, 690, 720, 690]


def session(folder: Path, values: made.Values) -> Path:
    """Its report; each value is a job."""
    return made.split(made.session(folder / "s", values)).report


def found(folder: Path, values: made.Values) -> Any:
    done = run_analysis("summary", session(folder, values), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def the_row(folder: Path, values: made.Values) -> str:
    """Of the only pattern and file system."""
    done = run_analysis("summary", session(folder, values))
    return next(line for line in done.stdout.splitlines() if line.startswith("s3d"))


def test_what_is_decided(tmp_path: Path) -> None:
    """POSIX is 3 times the default in each of seven rounds, and twice the other stack's; 300
    to 318 of a ceiling of 800. One lucky job of another call outruns nothing, but what one shared
    file costs is not decided with it."""
    values = {
        (MPIIO, "openmpi"): BASE, (POSIX, "openmpi"): [3 * v for v in BASE],
        (POSIX, "mpich"): [1.5 * v for v in BASE], (SHARED, "openmpi"): [999.0],
    }  # fmt: skip
    data = found(tmp_path, values)
    (row,) = data["fastest"]
    assert (row["call"], row["stack"], row["value"]) == ("posix", "openmpi", pytest.approx(309))
    assert [row[end] for end in ("gain", "low", "high")] == pytest.approx([3, 3, 3])
    assert data["answers"] == {
        "rows": "4 verified, 0 failed",
        "stacks": "In this session, over 1 case, mpich is typically 0.50 times as fast as openmpi "
        "(0.50 to 0.50).",
        "peak": "1 of 1 fastest methods stay below half of the peak: s3d ram 39 % (38 to 40)",
    }
    del values[SHARED, "openmpi"]
    assert found(tmp_path / "less", values)["answers"]["kinds"] == (
        "s3d ram, one shared file: mpiio:collective on openmpi, taking 3.00 times as long as a "
        "file per process (3.00 to 3.00)"
    )
    row = the_row(tmp_path / "again", values)
    assert row.split() == ["s3d", "103", "309", "posix", "openmpi", "3.0x", "(3.0-3.0)", "39", "%"]


def test_what_is_undecided_and_why(tmp_path: Path) -> None:
    """The stacks take turns; of the default there are three jobs."""
    values = {(POSIX, "openmpi"): TURNS, (POSIX, "mpich"): OTHERS,
              (MPIIO, "openmpi"): [100.0, 100, 100]}  # fmt: skip
    said = found(tmp_path, values)["answers"]
    assert said["stacks"].endswith("mpich is as fast as openmpi: no difference above 2 %.")
    assert said["peak"].startswith("none of the fastest methods is clearly below half")
    assert said["open"] == "1 of 1 gains not decided yet: s3d ram (3 pairs; 6 needed)"
    assert the_row(tmp_path / "again", values).split()[-3:] == ["undecided", "88", "%"]


def test_a_share_of_one_job_is_said_where_it_is_low(tmp_path: Path) -> None:
    said = found(tmp_path, {(POSIX, "openmpi"): [200.0]})["answers"]["peak"]
    assert said == ("none of the fastest methods is clearly below half of the peak; "
                    "not decided yet: s3d ram 25 %")  # fmt: skip


def test_a_gain_that_is_not_sure_has_its_interval(tmp_path: Path) -> None:
    """From 710 / 720 to the geometric mean of 700 / 690 and 705 / 690."""
    row = the_row(tmp_path, {(POSIX, "openmpi"): TURNS, (MPIIO, "openmpi"): OTHERS})
    assert row.split()[5:7] == ["1.0x", "(0.99-1.02)"]


def test_a_call_whose_gain_is_known_comes_before_one_that_may_be_no_faster(tmp_path: Path) -> None:
    """The same call on two stacks, of which one is 1 % faster in most rounds; the default ran as
    often on the other one alone."""
    base = [100.0, 101, 99, 100, 102, 98, 100]
    values = {
        (MPIIO, "openmpi"): base, (MPIIO, "mpich"): base[:1], (POSIX, "openmpi"): TURNS,
        (POSIX, "mpich"): [690.0, 720, 710, 720, 710, 720, 715],
    }  # fmt: skip
    (row,) = found(tmp_path, values)["fastest"]
    assert (row["call"], row["stack"], row["verdict"]) == ("posix", "openmpi", "faster")


def test_a_default_that_is_fastest_is_named_so(tmp_path: Path) -> None:
    row = the_row(tmp_path, {(MPIIO, "openmpi"): BASE, (POSIX, "openmpi"): [v / 2 for v in BASE]})
    assert row.split()[3:6] == ["mpiio:collective", "openmpi", "default"]


def test_a_session_that_wrote_nothing(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for case in recorded.cases():
        recorded.edit_case(case["display_name"], case["environ"], _skipped)
    done = run_analysis("summary", recorded.report)
    assert done.returncode == 0, done.stderr
    assert "24 skipped" in done.stdout


def _skipped(case: dict[str, Any]) -> None:
    case.update(result="skip", fail_info=None, fail_reason=None)


# ---------------------------------------------------------------- the screen


@pytest.mark.parametrize("name", ["session", "session-all"])
def test_a_session_fits_a_terminal_of_80x24(tmp_path: Path, name: str) -> None:
    recorded = Recorded(tmp_path, name)
    lines = on_a_terminal("summary", recorded.report, height=24)
    assert len(lines) <= 23, "\n".join(lines)  # and the prompt
    assert max(map(len, lines)) <= 80, "\n".join(lines)
    assert lines[0].split()[:3] == ["pattern", "default", "fastest"]
    assert lines[-1].startswith("next    iogauge ")
    tall = on_a_terminal("summary", recorded.report, height=60)
    patterns = {case["pattern"] for case in recorded.cases() if case["name"][:4] != "Peak"}
    assert patterns <= {line.split()[0] for line in tall}
    assert not any("more: iogauge summary --all" in line for line in tall)


def test_a_failed_row_stands_first(tmp_path: Path) -> None:
    """Before all that went well, with its reason below and on however small a screen."""
    recorded = Recorded(tmp_path)
    wrong = s3d("mpiio:collective", "disk")
    recorded.edit_document(wrong, "mpich", lambda d: d["verification"].update(verdict="mismatch"))
    recorded.document(POSIX, "openmpi").unlink()
    lines = on_a_terminal("summary", recorded.report, height=24, status=1)
    rows = [line.split() for line in lines if line.startswith("s3d")]
    assert [row[-1] for row in rows] == ["FAILED", "FAILED", "7", "7"], lines
    assert rows[0][3:5] == ["mpiio:collective", "mpich"]
    assert sum(line.startswith("failed ") for line in lines) == 2


def test_metadata_is_files_per_second(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, "session-all")
    done = run_analysis("summary", recorded.report)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("metadata")]
    assert rows and all(row[2].endswith("/s") and float(row[2][:-2]) > 1000 for row in rows)
    data = json.loads(run_analysis("summary", recorded.report, "--json").stdout)
    (place,) = (one for one in data["fastest"] if one["pattern"] == "metadata")
    assert (place["unit"], place["share"]) == ("files/s", None)


def test_the_page_and_what_to_go_on_with(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    before = run_analysis("summary", "--output", recorded.output).stdout.splitlines()
    assert before[-1].split() == ["next", "iogauge", "report"]
    run_analysis("report", "--output", recorded.output)
    lines = run_analysis("summary", "--output", recorded.output).stdout.splitlines()
    (page,) = recorded.output.glob("2*/report.html")
    assert lines[-2].split() == ["page", str(page)]
    assert lines[-1].split(maxsplit=1)[1].startswith("iogauge compare ")


def test_a_share_is_of_the_speed_beside_it(tmp_path: Path) -> None:
    """Of seven jobs two are disturbed. The first screen's speed is of all pairs, as `compare` says
    it; a row's and `compare last peak`'s of the five others; each share is of the speed beside it.
    With four disturbed jobs the first screen has none."""
    jobs = [300.0, 310, 90, 306, 80, 308, 302]

    def told(disturbed: int) -> tuple[Any, Any, Any]:
        one = made.session(tmp_path / f"s{disturbed}", {
            (MPIIO, "openmpi"): BASE, (POSIX, "openmpi"): jobs,
        })  # fmt: skip

        def slow(document: dict[str, Any]) -> None:
            for number in (2, 4, 0, 1)[:disturbed]:
                document["samples"][number]["ceilings"]["fpp"].update(write=399.0, read=399.0)

        one.edit_document(POSIX, "openmpi", slow)
        report, store = made.split(one).report, tmp_path / f"store{disturbed}"
        data = json.loads(run_analysis("summary", report, "--json").stdout)
        ingest(report, store)
        against = run_analysis("compare", "last", "peak", "--json", "--store", store)
        (case,) = (row for row in json.loads(against.stdout)
                   if (row["method"], row["quantity"]) == ("posix", "write_bw"))  # fmt: skip
        (row,) = (row for row in data["rows"] if row["method"] == "posix")
        (first,) = data["fastest"]
        return first, row, case

    first, row, case = told(2)
    assert (first["value"], first["share"]) == (302, 302 / 800)
    assert (row["write_mib_s"], row["write_fraction_fpp"]) == (306, 306 / 800)
    assert (case["value"], case["efficiency"], case["left_out"]) == (306, 306 / 800, 2)
    first, row, case = told(4)
    assert (first["value"], first["share"]) == (302, None)
    assert (row["write_mib_s"], row["write_fraction_fpp"]) == (306, 306 / 800)
    assert (case["value"], case["peak"], case["left_out"]) == (306, 800, 4)
