# SPDX-License-Identifier: BSD-3-Clause
"""The command line: what it prints, where it writes, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from tests.analysis_recorded import Recorded, run_analysis, s3d

MPIIO = s3d("mpiio:collective")


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def test_the_last_session_as_a_table(recorded: Recorded) -> None:
    done = run_analysis("summary", "--all", "--output", recorded.output)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    row = next(line for line in lines if "mpiio" in line and "openmpi" in line and "ram" in line)
    document = json.loads(recorded.document(MPIIO, "openmpi").read_text())
    assert row.split()[:6] == ["s3d", "mpiio", "collective", "openmpi", "ram", "2"]
    assert float(row.split()[6]) == pytest.approx(document["summary"]["write_bw"], rel=0.01)
    assert row.split()[-1] == "yes"
    assert "18 verified, 0 failed, 4 moved nothing (null), 2 skipped; medians of 3" in done.stdout
    assert "skipped 2: stack mpich: " in done.stdout
    assert "openmpi: HDF5 1.10.8, Open MPI v4.1.4, PnetCDF 1.12.3" in lines
    assert "reads from disk (ext4): cold, as " in done.stdout


def test_piped_output_has_no_colours_and_is_not_cut(recorded: Recorded) -> None:
    done = run_analysis("summary", recorded.report, "--all")
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout
    assert all(name in done.stdout for name in ("% shared", "min-max", "collective"))


def test_several_scales_are_told_apart(recorded: Recorded) -> None:
    assert "; scale smoke" in run_analysis("summary", recorded.report, "--all").stdout
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(scale="laptop"))
    done = run_analysis("summary", recorded.report, "--all")
    assert "; scale" not in done.stdout
    assert done.stdout.split()[:4] == ["pattern", "scale", "method", "mode"]
    assert "s3d      laptop  mpiio" in done.stdout


def test_rates_of_many_small_files(recorded: Recorded) -> None:
    rates = {"create_rate": 1234.5, "stat_rate": 99000.0, "open_rate": None, "remove_rate": 7.0}
    recorded.edit_document(MPIIO, "openmpi", lambda d: d["summary"].update(rates))
    done = run_analysis("summary", "--all", "--output", recorded.output)
    line = "ram, openmpi, s3d mpiio, 2 processes: create 1234, stat 99000, remove 7"
    assert f"files/s:\n  {line}\n" in done.stdout
    page = recorded.folder / "page.html"
    run_analysis("summary", "--output", recorded.output, "--html", page)
    assert line in page.read_text()
    recorded.edit_document(MPIIO, "openmpi", lambda d: d["summary"].update(stat_rate=0))
    done = run_analysis("summary", "--output", recorded.output)
    assert "summary/stat_rate: 0 is" in done.stdout


def test_a_page_and_a_picture_on_request_only(recorded: Recorded) -> None:
    """The latest page is the report's: see test_analysis_report.py."""
    run_analysis("summary", "--output", recorded.output)
    assert not list(recorded.output.rglob("*.html"))
    page, picture = recorded.folder / "new" / "page.html", recorded.folder / "plot.png"
    run_analysis("summary", recorded.report, "--html", page, "--png", picture)
    assert page.read_text().startswith("<!doctype html>")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json(recorded: Recorded) -> None:
    done = run_analysis("summary", recorded.report, "--json")
    data = json.loads(done.stdout)
    assert data["all_verified"] is True
    assert data["counts"] == {"verified": 18, "nothing moved": 4, "skipped": 2}
    assert len(data["rows"]) == 24
    document = json.loads(recorded.document(MPIIO, "openmpi").read_text())
    row = next(r for r in data["rows"] if (r["test"], r["stack"]) == (MPIIO, "openmpi"))
    assert row["write_mib_s"] == pytest.approx(document["summary"]["write_bw"])
    (peak,) = (p for p in data["peaks"] if (p["file_system"], p["ceiling"]) == ("ram", "fpp")
               and p["direction"] == "write")  # fmt: skip
    for row in data["rows"]:
        if row["file_system"] == "ram" and row["write_fraction_fpp"]:
            assert row["write_mib_s"] / row["write_fraction_fpp"] == pytest.approx(peak["mib_s"])


def test_csv(recorded: Recorded) -> None:
    done = run_analysis("summary", recorded.report, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 24
    assert {row["status"] for row in rows} == {"ok", "skipped"}


@pytest.mark.parametrize("form", [(), ("--all",), ("--json",), ("--csv",)])
def test_a_run_that_is_not_verified_exits_with_1(recorded: Recorded, form: tuple[str, ...]) -> None:
    recorded.edit_document(MPIIO, "mpich", lambda d: d["verification"].update(verdict="mismatch"))
    done = run_analysis("summary", recorded.report, *form)
    assert done.returncode == 1
    assert "mismatch" in done.stdout.lower()


def test_a_failed_run_is_named_with_its_reason(recorded: Recorded) -> None:
    recorded.document(MPIIO, "mpich").unlink()
    done = run_analysis("summary", recorded.report, "--all")
    assert done.returncode == 1
    assert f"failed: {MPIIO} on mpich: no result document result.json" in done.stdout


def test_many_failures_of_one_kind_take_one_line(recorded: Recorded) -> None:
    for name in ("posix", "posix-shared", "mpiio:collective", "null"):
        recorded.document(s3d(name), "mpich").unlink()
    done = run_analysis("summary", recorded.report, "--all")
    assert done.stdout.count("  failed: ") == 1
    assert "and 1 more: no result document" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [("unknown",), ("summary", "--json", "--csv"), ("summary", "--html"), ("summary", "-x")],
)
def test_wrong_command_line_exits_with_2(arguments: tuple[str, ...]) -> None:
    done = run_analysis(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("iogauge: ")


def test_a_page_that_cannot_be_written_exits_with_2(recorded: Recorded) -> None:
    done = run_analysis("summary", recorded.report, "--html", recorded.report / "page.html")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(recorded.report) in done.stderr


def test_bad_data_exits_with_3_and_one_line(recorded: Recorded) -> None:
    name = recorded.document(MPIIO, "mpich")
    recorded.edit_document(MPIIO, "mpich", lambda d: d.update(schema="iogauge.result/9"))
    empty = recorded.folder / "empty"
    empty.mkdir()
    for arguments, said in (
        ((recorded.report,), f"{name}: result file of a newer iogauge"),
        (("--output", empty), f"{empty}/reports: expected the report of a session"),
        ((name,), f"{name}: expected ReFrame's report"),
    ):
        done = run_analysis("summary", *arguments)
        assert done.returncode == 3
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"iogauge: {said}")
        assert done.stdout == ""


def test_help_has_examples_and_exit_codes() -> None:
    assert "exit status:" in run_analysis("--help").stdout
    done = run_analysis("summary", "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout


def test_a_reader_that_stops_is_no_error(recorded: Recorded) -> None:
    """As in `... | head -1`: no traceback."""
    read, write = os.pipe()
    os.close(read)
    done = run_analysis("summary", recorded.report, "--csv", stdout=write)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""
