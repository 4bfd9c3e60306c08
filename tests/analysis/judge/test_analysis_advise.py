# SPDX-License-Identifier: BSD-3-Clause
"""Advice: the fastest that was seen, what it gains, and files that the libraries read."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from iogauge.analysis.judge.advice import default_of, fastest, rank, settings
from iogauge.analysis.judge.samples import Job, speedup
from iogauge.analysis.store.ingest import ingest
from iogauge.cli.advise import write_files
from iogauge.common.text import three
from tests import analysis_made as made
from tests.analysis_recorded import DATA, run_analysis, s3d

CASES = {
    (s3d("mpiio:collective"), "openmpi"): [100.0] * 6,
    (s3d("posix"), "openmpi"): [300.0] * 6,
    (s3d("posix-shared"), "openmpi"): [50.0] * 6,
}


def test_golden_csv(tmp_path: Path) -> None:
    """Constant bandwidths of 300, 100 and 50: the gains over 100 are 3, 1 and 0.5."""
    store = made.store(tmp_path, [CASES], jobs=True)
    done = run_analysis(
        "advise", "--pattern", "s3d", "--system", "local", "--csv", "--store", store
    )
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_advise.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden


def test_in_words(tmp_path: Path) -> None:
    store = made.store(tmp_path, [CASES], jobs=True)
    document = next(tmp_path.glob("s0/**/S3d*/result.json"))
    took = json.loads(document.read_text())["payload"]["bytes"] / 2**20 / 300 * 1000
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--store", store)
    assert (
        "ram, smoke, 2 processes: posix on openmpi, no hints: 300 MiB/s, "
        "3.00 times as fast as mpiio:collective on the same stack (3.00 to 3.00); "
        f"a repeat took {three(took)} ms, too short for advice\n"
        "  a file per process: posix on openmpi\n"
        "  one shared file: mpiio:collective on openmpi, taking 3.00 times as long as a file per "
        "process (3.00 to 3.00)\n"
    ) in done.stdout


def test_few_jobs_have_no_third_digit(tmp_path: Path) -> None:
    values = {(s3d("posix"), "openmpi"): [312.3], (s3d("mpiio:collective"), "openmpi"): [100.0]}
    store = made.store(tmp_path, [values], jobs=True)
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--store", store)
    assert (
        ", 3.1 times as fast as mpiio:collective on the same stack (1 pair; 6 needed); a repeat"
        in done.stdout
    )
    assert ", taking 3.1 times as long as a file per process, not decided yet: 1 " in done.stdout


def test_a_kind_of_file_is_not_judged_by_a_slow_call_that_ran_more_often(tmp_path: Path) -> None:
    """One shared file: the default ran in all rounds at 100, another way once at 200."""
    cases = {**CASES, (s3d("posix-shared"), "openmpi"): [200.0]}
    store = made.store(tmp_path, [cases], jobs=True)
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--store", store)
    assert "shared file: posix-shared on openmpi, taking 1.5 times as long as a fil" in done.stdout
    assert ", not decided yet: 1 pair; 6 needed" in done.stdout


def test_the_default_may_have_parameters_that_the_call_lacks() -> None:
    """As a layout of one file, and not other values of the same; of two the fastest."""

    def row(call: str, variant: str, speed: float, stack: str = "a") -> dict[str, Any]:
        found = {Job(1, 0, place=int(speed), drawn=True): speed}
        return {"call": call, "method": call.partition(":")[0], "variant": variant,
                "stack": stack, "hints": "", "found": found}  # fmt: skip

    own = row("posix", "content=hydro", 300)
    group = [
        own, row("mpiio:collective", "content=amr, layout=x", 250),
        row("mpiio:collective", "content=hydro, layout=x", 100),
        row("mpiio:collective", "content=hydro, layout=y", 200),
        row("mpiio:collective", "content=hydro, layout=y", 400, "b"),
    ]  # fmt: skip
    assert default_of(own, group, "mpiio:collective") is group[3]
    group.append(row("mpiio:collective", "content=hydro", 50))
    assert default_of(own, group, "mpiio:collective") is group[-1]
    assert default_of(own, group[:2], "mpiio:collective") is None


@pytest.mark.parametrize(
    ("kind", "calls"),
    [("own", ["posix"]), ("shared", ["mpiio:collective", "posix-shared"]), ("format", [])],
)
def test_advice_on_one_kind_of_file(tmp_path: Path, kind: str, calls: list[str]) -> None:
    store = made.store(tmp_path, [CASES], jobs=True)
    words = ("--pattern", "s3d", "--system", "local", "--kind", kind, "--json", "--store", store)
    done = run_analysis("advise", *words)
    assert done.returncode == (0 if calls else 3), done.stderr
    rows = json.loads(done.stdout) if calls else []
    assert [":".join(filter(None, [row["method"], row["mode"]])) for row in rows] == calls


def test_nothing_to_advise(tmp_path: Path) -> None:
    store = made.store(tmp_path, [CASES])
    done = run_analysis("advise", "--pattern", "weather", "--system", "local", "--store", store)
    assert done.returncode == 3
    assert "no verified writes of pattern weather on local" in done.stderr


def test_files_of_the_fastest_one_with_hints(tmp_path: Path) -> None:
    values = {(s3d("mpiio:collective"), "mpich"): [100.0] * 6}
    session = made.session(tmp_path / "s", values)
    hints = {"romio_cb_write": "enable", "cb_nodes": "2", "nc_header_align_size": "1048576"}
    session.edit_document(
        s3d("mpiio:collective"), "mpich", lambda d: d["asked"].update(hints=hints)
    )
    ingest(session.report, tmp_path / "store")
    folder = tmp_path / "hints"
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--write", folder,
                        "--store", tmp_path / "store")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "romio-hints").read_text() == "cb_nodes 2\nromio_cb_write enable\n"
    sourced = subprocess.run(
        ["bash", "-c", f". {folder}/environment.sh; echo $ROMIO_HINTS; echo $PNETCDF_HINTS"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sourced.stdout.split() == [str(folder / "romio-hints"), "nc_header_align_size=1048576"]


@pytest.mark.parametrize(("shortest", "lacks", "said"), [
    (0.2, "", ""), (0.02, "", "# a repeat took 20.0 ms, too short"),
    (0.2, "1 pair; 6 needed", "# not decided yet whether it is faster: 1 pair; 6 needed\n"),
])  # fmt: skip
def test_files_say_what_they_are_not_sure_of(
    tmp_path: Path, shortest: float, lacks: str, said: str
) -> None:
    row = {"hints": "cb_nodes=2", "mpi_io": "ROMIO", "shortest": shortest, "lacks": lacks}
    write_files(tmp_path, row)
    text = (tmp_path / "environment.sh").read_text()
    assert text.startswith(said or "export") and "ROMIO_HINTS" in text


def test_open_mpi_gets_its_own_file(tmp_path: Path) -> None:
    files = settings({"io_ompio_num_aggregators": "4"}, "OMPIO", tmp_path)
    assert files["mca-params.conf"] == "io = ompio\nio_ompio_num_aggregators = 4\n"
    assert "OMPI_MCA_mca_base_param_files" in files["environment.sh"]


def test_each_hint_goes_where_its_library_looks(tmp_path: Path) -> None:
    """ROMIO would not read the settings of Blue Gene, of OMPIO's frameworks and of HDF5."""
    files = settings(
        {"BGLOCKLESSMPIO_F_TYPE": "7", "sharedfp": "sm", "hdf5_alignment": "1", "cb_nodes": "2"},
        "ROMIO", tmp_path,
    )  # fmt: skip
    assert files["romio-hints"] == "cb_nodes 2\n"
    assert files["mca-params.conf"] == "sharedfp = sm\n"
    assert 'export BGLOCKLESSMPIO_F_TYPE="7"\n' in files["environment.sh"]
    assert "# hdf5_alignment=1: the program asks HDF5\n" in files["environment.sh"]


def _row(call: str, speeds: list[float], first: int = 0) -> dict[str, object]:
    """Jobs from number `first` on: equal numbers ran in one round."""
    method, _, mode = call.partition(":")
    jobs = {Job(1, first + i, first + i, True): speed for i, speed in enumerate(speeds)}
    return {"call": call, "method": method, "mode": mode, "stack": "openmpi", "variant": "",
            "hints": "", "mpi_io": "OMPIO", "found": jobs}  # fmt: skip


@pytest.mark.parametrize(("default", "other"), [(7, 6), (24, 6), (24, 12), (3, 3)])
def test_a_default_that_ran_more_often_does_not_come_first(default: int, other: int) -> None:
    """`tune` runs the default in every round, and a winner only from the round on it was tried."""
    slow = _row("mpiio:collective", [29.0 + i % 3 for i in range(default)])
    fast = _row("posix", [6068.0 + i % 5 for i in range(other)])
    found = rank([slow, fast], "mpiio:collective")
    assert [row["call"] for row in found] == ["posix", "mpiio:collective"]


def test_one_lucky_job_does_not_outrank_seven() -> None:
    often, lucky = _row("mpiio:collective", [100.0 + i for i in range(7)]), _row("posix", [900.0])
    assert fastest([lucky, often], "mpiio:collective") is often


def test_two_jobs_that_are_faster_than_fourteen_come_first() -> None:
    """By chance the fastest two of sixteen are in 1 of 120 cases the two of one call."""
    often = _row("mpiio:collective", [160.0 + i for i in range(14)])
    seldom = _row("mpiio:independent", [1100.0, 1240.0], first=40)
    assert fastest([often, seldom], "mpiio:collective") is seldom
    assert [row["rank"] for row in rank([often, seldom], "mpiio:collective")] == [1, 2]


@pytest.mark.parametrize(("later", "verdict"), [(30.0, "not decided yet"), (90.0, "faster")])
def test_a_gain_is_decided_with_that_of_the_first_rounds_fastest(
    later: float, verdict: str
) -> None:
    """`posix` is four times as fast as the default, but `posix-shared` was faster in one round."""
    group = [
        _row("mpiio:collective", [30.0] * 7), _row("posix", [120.0] * 7),
        _row("posix-shared", [130.0] + [later] * 6),
    ]  # fmt: skip
    first, *_ = rank(group, "mpiio:collective")
    assert (first["call"], first["over_default"], first["verdict"]) == ("posix", 4, verdict)


CALLS = ("mpiio:collective", "mpiio:independent", "posix", "hdf5:collective")
SPEEDS = st.floats(1, 2).flatmap(
    lambda noise: st.lists(st.floats(10, 10 * noise), min_size=1, max_size=15)
)


@effort(deadline=None)
@given(st.lists(st.tuples(SPEEDS, st.sampled_from((1, 5, 200)), st.integers(0, 9)), min_size=2,
                max_size=4))  # fmt: skip
def test_the_decidedly_faster_never_ranks_below(
    drawn: list[tuple[list[float], int, int]],
) -> None:
    """Whatever the counts of jobs, unless such verdicts go round in a circle."""
    group = [
        _row(call, [speed * times for speed in speeds], first)
        for call, (speeds, times, first) in zip(CALLS, drawn, strict=False)
    ]
    ranks = {row["call"]: row["rank"] for row in rank(group, "mpiio:collective")}
    left = list(group)
    while left:  # the slowest of those that are left is faster than none
        slower = [
            row for row in left
            if not any(_faster(row, other) for other in left if other is not row)
        ]  # fmt: skip
        if not slower:
            return
        left = [row for row in left if row not in slower]
    for row in group:
        for other in group:
            if row is not other and _faster(row, other):
                assert ranks[row["call"]] < ranks[other["call"]]


def _faster(row: dict[str, object], other: dict[str, object]) -> bool:
    one, base = row["found"], other["found"]
    assert isinstance(one, dict) and isinstance(base, dict)
    above = min(one.values()) > max(base.values())
    by_chance = 1 / math.comb(len(one) + len(base), len(one))
    return bool(speedup(base, one).verdict == "faster" or (above and by_chance <= 0.05))


def _not_synced(document: dict[str, Any]) -> None:
    document["asked"]["fsync"] = False


def test_groups_are_told_apart_and_one_is_written(tmp_path: Path) -> None:
    """Of two file systems, and of runs with and without fsync, whose speeds are no rivals."""
    disk = (s3d("mpiio:collective", "disk"), "openmpi")
    sessions = [{(s3d("posix"), "openmpi"): [9.0], disk: [3.0]}, {disk: [7.0]}]
    for day, values in enumerate(sessions):
        one = made.session(tmp_path / f"s{day}", values, day=day)
        if day:
            one.edit_document(*disk, _not_synced)
        ingest(one.report, tmp_path / "store")
    words = ("advise", "--pattern", "s3d", "--system", "local", "--store", tmp_path / "store")
    told = run_analysis(*words).stdout
    assert "disk, smoke, 2 processes: mpiio" in told
    assert "disk, smoke, 2 processes, no fsync: mpiio" in told
    for where in ([], ["fs=disk"], ["fs=disk", "fsync=false"], ["fs=ram"]):
        folder = tmp_path / "-".join(["of", *where])
        done = run_analysis(*words, "--write", folder, *(f"--where={word}" for word in where))
        one_group = where not in ([], ["fs=disk"])
        assert (done.returncode, folder.exists()) == ((0, True) if one_group else (2, False))
        if not one_group:
            assert "--write: expected one of these, selected by --where: fs=disk" in done.stderr
            assert "; fs=disk scale=smoke processes=2 fsync=true" in done.stderr


def test_no_rows_are_refused() -> None:
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--top", "0")
    assert (done.returncode, done.stderr) == (2, "iogauge: --top 0: expected 1 or more\n")
