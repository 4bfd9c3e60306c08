# SPDX-License-Identifier: BSD-3-Clause
"""Claims: each kind of test on made runs, and what is said where a claim cannot be tested."""

from __future__ import annotations

import json
import os
import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from iogauge.analysis.judge import claims, selection
from iogauge.analysis.judge.claim_criteria import KINDS, published
from iogauge.analysis.pages import claim_text
from iogauge.analysis.store import database as store
from iogauge.analysis.store import words
from iogauge.analysis.store.ingest import ingest
from iogauge.cli import formats
from tests import analysis_made as made
from tests.analysis_recorded import run_analysis, s3d
from tests.reframe_session import reframe

NOT, REPRODUCED = "not testable here", "reproduced"
MPIIO, POSIX = s3d("mpiio:collective", "disk"), s3d("posix", "disk")
NEEDS = {"processes": 2, "samples": 6, "fs_type_not": ["tmpfs"]}
RATIO = {
    "kind": "ratio", "where": {"pattern": "s3d"}, "quantity": "write_bw",
    "a": {"method": "mpiio:collective"}, "b": {"method": "posix"},
}  # fmt: skip


def claim(*tests: dict[str, Any], needs: dict[str, Any] = NEEDS) -> claims.Claim:
    return claims.Claim(
        "C0", "made up", "a sentence", "p. 0", "the opposite", "nobody", needs, tests, ["-n Made"]
    )


def judged_row(connection: Any, one: claims.Claim) -> dict[str, Any]:
    """As CSV and JSON have it."""
    return formats.joined(
        claim_text.row(claims.judge(claims.runs_for([one], connection, store.Where()), one))
    )


def published_text(test: dict[str, Any]) -> tuple[str, str]:
    """The published number, and the system that it is of."""
    stated = published(test)
    assert stated
    return stated.number, stated.origin.split()[0].rstrip(";,")


def judged(folder: Path, sessions: list[made.Values], *tests: dict[str, Any]) -> dict[str, Any]:
    connection = store.connect(made.store(folder, sessions, jobs=True))
    return judged_row(connection, claim(*tests))


def _cores(document: dict[str, Any], cores: int | None) -> None:
    document["system"]["cores_per_node"] = cores
    if cores is None:  # only another program than iokernel does not say
        document["program"]["name"] = "ior"


def _rename(case: dict[str, Any], name: str) -> None:
    case.update(display_name=name, method="mpiio")


@pytest.mark.parametrize(
    ("factor", "expect", "verdict"),
    [
        (3, {"above": 1}, "reproduced"),
        (3, {"above": 4}, "contradicted"),
        (0.5, {"above": 1}, "contradicted"),
        (1.2, {"above": 0.667, "below": 1.5}, "reproduced"),
        (3, {"above": 0.667, "below": 1.5}, "contradicted"),
    ],
)
def test_ratio(tmp_path: Path, factor: float, expect: dict[str, float], verdict: str) -> None:
    values: dict[tuple[str, str], list[float]] = {
        (MPIIO, "openmpi"): [100] * 6,
        (POSIX, "openmpi"): [100 * factor] * 6,
    }
    row = judged(tmp_path, [values], {**RATIO, "expect": expect})
    assert row["verdict"] == verdict
    assert f"{factor:.3g} ({factor:.3g} to {factor:.3g})" in row["measured"]


def test_an_interval_that_holds_both_is_no_verdict(tmp_path: Path) -> None:
    values = {(MPIIO, "openmpi"): [50, 200] * 4, (POSIX, "openmpi"): [200, 50] * 4}
    row = judged(tmp_path, [values], {**RATIO, "expect": {"above": 1}})
    assert row["verdict"] == "not testable here"
    assert "more samples" in row["missing"]


def test_one_counterexample_contradicts(tmp_path: Path) -> None:
    values = {
        (MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [200] * 6,
        (MPIIO, "mpich"): [100] * 6, (POSIX, "mpich"): [50] * 6,
    }  # fmt: skip
    row = judged(tmp_path, [values], {**RATIO, "expect": {"above": 1}})
    assert (row["verdict"], row["cases"]) == ("contradicted", "1 of 2")


def test_what_a_document_says_of_most_cases_one_counterexample_leaves(tmp_path: Path) -> None:
    """ "Generally", "almost all": of three cases one is against, then two are."""
    places = (("disk", "openmpi"), ("disk", "mpich"), ("ram", "openmpi"))
    test = {**RATIO, "most": True, "expect": {"above": 1}}
    for against, verdict in ((1, "reproduced"), (2, "contradicted")):
        values: dict[tuple[str, str], list[float]] = {}
        for number, (fs, stack) in enumerate(places):
            values[s3d("mpiio:collective", fs), stack] = [100] * 6
            values[s3d("posix", fs), stack] = [50 if number < against else 200] * 6
        connection = store.connect(made.store(tmp_path / verdict, [values], jobs=True))
        row = judged_row(connection, claim(test, needs={"processes": 2, "samples": 6}))
        assert (row["verdict"], row["cases"]) == (verdict, f"{3 - against} of 3")


def test_runs_come_after_runs_on_one_connection(tmp_path: Path) -> None:
    """The next one may stand in memory where the last one stood."""
    values: made.Values = {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [50] * 6}
    connection = store.connect(made.store(tmp_path, [values], jobs=True))
    test = {**RATIO, "expect": {"above": 1}}
    rows = [judged_row(connection, claim(test, needs=NEEDS)) for _ in range(30)]
    assert rows == rows[:1] * 30


def test_below_its_scale_a_claim_shows_a_trend_and_no_verdict(tmp_path: Path) -> None:
    values: made.Values = {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [50] * 6}
    connection = store.connect(made.store(tmp_path, [values], jobs=True))
    test = {**RATIO, "expect": {"above": 1}}
    needs = {**NEEDS, "processes": 1024}
    assert judged_row(connection, claim(test, needs=needs))["measured"] == ""
    row = judged_row(connection, claim(test, needs={**needs, "shown_from": 2}))
    assert row["verdict"] == NOT
    assert "0.5 (0.5 to 0.5)" in row["measured"]
    assert "the claim is about 1024 processes: a trend, which is not conclusive" in row["measured"]
    assert row["missing"].startswith("1024 processes of ")


@pytest.mark.parametrize(
    ("values", "needs", "missing"),
    [
        ({(MPIIO, "openmpi"): [100] * 6}, {}, "runs of pattern=s3d method=posix"),
        (
            {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [100] * 6},
            {"processes": 64},
            "64 processes of pattern=s3d method=mpiio:collective, there are 2",
        ),
        (
            {(MPIIO, "openmpi"): [100] * 3, (POSIX, "openmpi"): [100] * 3},
            {},
            "6 alternating jobs of each in the same case",
        ),
        (
            {(s3d(call), "openmpi"): [100] * 6 for call in ("mpiio:collective", "posix")},
            {},
            "pattern=s3d method=mpiio:collective on a file system that is not tmpfs",
        ),
        (
            {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [100] * 6},
            {"libraries_not": [r"hdf5 9\.", r"hdf5 1\.10\.[5-8]\b"]},
            "pattern=s3d method=mpiio:collective with libraries that are not "
            r"hdf5 9\. or hdf5 1\.10\.[5-8]\b",
        ),
    ],
)
def test_what_is_missing(
    tmp_path: Path, values: made.Values, needs: dict[str, Any], missing: str
) -> None:
    connection = store.connect(made.store(tmp_path, [values], jobs=True))
    test = {**RATIO, "expect": {"above": 1}}
    row = judged_row(connection, claim(test, needs={**NEEDS, **needs}))
    assert (row["verdict"], row["missing"]) == ("not testable here", missing)
    assert row["command"] == "iogauge run --site SITE -- -n Made"


@pytest.mark.parametrize(("cores", "verdict"), [(1, NOT), (2, REPRODUCED), (None, REPRODUCED)])
def test_processes_that_share_cores_decide_nothing(
    tmp_path: Path, cores: int | None, verdict: str
) -> None:
    """Two processes; what they measured is shown all the same."""
    values = {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [300] * 6}
    session = made.session(tmp_path / "s", values)
    for name, stack in values:
        session.edit_document(name, stack, partial(_cores, cores=cores))
    ingest(made.split(session).report, tmp_path / "store")
    test = {**RATIO, "expect": {"above": 1}}
    row = judged_row(store.connect(tmp_path / "store"), claim(test))
    assert row["verdict"] == verdict
    assert "3 (3 to 3)" in row["measured"]
    assert ("on 1 cores, which is not conclusive" in row["measured"]) == (verdict == NOT)
    assert row["missing"] == ("a core for each process" if verdict == NOT else "")


def test_a_test_may_need_less_than_its_claim(tmp_path: Path) -> None:
    values = {(MPIIO, "openmpi"): [100] * 6, (POSIX, "openmpi"): [50] * 6}
    connection = store.connect(made.store(tmp_path, [values], jobs=True))
    test = {**RATIO, "expect": {"above": 1}}
    most = {**NEEDS, "processes": 64}
    one = claim(test, {**test, "needs": {"processes": 2}}, needs=most)
    assert one.processes == 2
    row = judged_row(connection, one)
    assert (row["verdict"], row["cases"]) == ("contradicted", "0 of 1")


@pytest.mark.parametrize(
    ("expect", "verdict"),
    [({"above": 0.7, "below": 1.3}, "contradicted"), ({"above": 1.9, "below": 2.1}, "reproduced")],
)
def test_growth(tmp_path: Path, expect: dict[str, float], verdict: str) -> None:
    """Bandwidths of 100, 400 and 1600 on 1, 2 and 4 processes: the exponent is 2."""
    for day, processes in enumerate((1, 2, 4)):
        values = {(MPIIO, "openmpi"): [100 * processes**2] * 6}
        session = made.session(tmp_path / str(day), values, day=day, processes=processes)
        session.edit_document(MPIIO, "openmpi", partial(_cores, cores=4))
        ingest(made.split(session).report, tmp_path / "store")
    test = {"kind": "growth", "where": {"pattern": "s3d"}, "quantity": "write_bw",
            "along": "processes", "expect": expect}  # fmt: skip
    row = judged_row(store.connect(tmp_path / "store"), claim(test))
    assert row["verdict"] == verdict
    assert "exponent of write_bw in processes: 2 (2 to 2)" in row["measured"]


def test_jobs_whose_order_was_not_drawn_decide_nothing(tmp_path: Path) -> None:
    """What a job gains by its place is no part of a claim; one session alone is one sample."""
    values: made.Values = {(MPIIO, "openmpi"): [100] * 12, (POSIX, "openmpi"): [300] * 12}
    for drawn, verdict in ((True, REPRODUCED), (False, NOT)):
        session = made.session(tmp_path / verdict, values)
        if not drawn:
            session.edit(lambda report: report["session_info"].pop("order_seed"))
        ingest(made.split(session).report, tmp_path / f"store {drawn}")
        connection = store.connect(tmp_path / f"store {drawn}")
        row = judged_row(connection, claim({**RATIO, "expect": {"above": 1}}))
        assert row["verdict"] == verdict


def _one_session(folder: Path, cases: dict[str, dict[str, Any]], factor: float) -> Any:
    """A store of a session with six rounds of two cases of mpiio, the second so much as fast, with
    what `cases` changes in their documents."""
    values = {(MPIIO, "openmpi"): [100.0] * 6, (POSIX, "openmpi"): [100 * factor] * 6}
    session = made.session(folder / "session", values)
    like = json.loads(session.document(MPIIO, "openmpi").read_text())

    def change(document: dict[str, Any], mode: str = "collective", processes: int = 2) -> None:
        document["asked"] = {**like["asked"], "mode": mode}
        document["used"] = like["used"]
        document["system"].update(processes=processes, cores_per_node=4)

    for (test, stack), (word, changes) in zip(values, cases.items(), strict=True):
        session.edit_document(test, stack, partial(change, **changes))
        session.edit_case(test, stack, partial(_rename, name=f"{MPIIO} %{word}"))
    ingest(made.split(session).report, folder / "store")
    return store.connect(folder / "store")


def test_io_processes_are_processes_too(tmp_path: Path) -> None:
    """Runs with one and two reserved processes have different numbers of processes in all."""
    cases = {"io_processes=1": {"processes": 3}, "io_processes=2": {"processes": 4}}
    test = {"kind": "ratio", "where": {"pattern": "s3d"}, "quantity": "write_bw",
            "a": {"io_processes": 1}, "b": {"io_processes": 2}, "expect": {"above": 1}}  # fmt: skip
    row = judged_row(_one_session(tmp_path, cases, 2), claim(test))
    assert row["verdict"] == "reproduced"
    assert "2 (2 to 2)" in row["measured"]


@pytest.mark.parametrize("mode_on", ["collective-metadata", "collective"])
def test_collective_metadata_is_a_mode_or_a_hint(tmp_path: Path, mode_on: str) -> None:
    """Runs with it have a separate mode; older ones were of mode collective, with a hint."""
    cases = {"metadata=off": {"mode": "collective"}, "metadata=on": {"mode": mode_on}}
    test = {"kind": "ratio", "where": {"pattern": "s3d", "method": "mpiio"}, "quantity": "write_bw",
            "a": {"metadata": "off"}, "b": {"metadata": "on"}, "expect": {"above": 1}}  # fmt: skip
    row = judged_row(_one_session(tmp_path, cases, 3), claim(test))
    assert row["verdict"] == "reproduced"
    assert "3 (3 to 3)" in row["measured"]


def test_share(tmp_path: Path) -> None:
    """Of a peak of 800."""
    test = {"kind": "share", "where": {"pattern": "s3d"}, "part": "write_bw",
            "of": "ceiling_fpp_write", "expect": {"above": 0.2, "below": 0.3}}  # fmt: skip
    row = judged(tmp_path, [{(MPIIO, "openmpi"): [200] * 6}], test)
    assert row["verdict"] == "reproduced"
    assert "write_bw of ceiling_fpp_write: 0.25 (0.25 to 0.25)" in row["measured"]


def test_the_published_ratio_is_worked_out_from_the_published_numbers() -> None:
    """810 over 158 of the layout table; 6784.7 over 47.4 of the hint table."""
    tests = {test["quantity"]: test for one in claims.load(wanted=["C5", "C6"])
             for test in reversed(one.tests)}  # fmt: skip
    assert published_text(tests["write_bw"]) == (f"{810 / 158:.3g}", "Babel")
    assert published_text(tests["write_seconds"]) == (f"{6784.7 / 47.4:.3g}", "Babel")


def test_every_published_number_of_a_claim_is_found() -> None:
    named = [test for one in claims.load() for test in one.tests if "published" in test]
    assert len(named) > 8
    assert all(published(test) for test in named)


def test_every_claim_on_an_empty_hand(tmp_path: Path) -> None:
    """A store without what the claims are about: none is judged, and each says what to run."""
    folder = made.store(tmp_path, [{(s3d("posix"), "openmpi"): [100] * 3}])
    done = run_analysis("claims", "--json", "--store", folder)
    rows = json.loads(done.stdout)
    assert [row["claim"] for row in rows] == [one.id for one in claims.load()]
    assert {row["verdict"] for row in rows} == {"not testable here"}
    assert all(row["missing"] and "iogauge run --site" in row["command"] for row in rows)
    assert done.returncode == 0


OF_ANY_NAME = {"pattern", "method", "test", "fs_type", "processes", "system", *words.libraries()}


def _asks(side: dict[str, Any], name: str) -> bool:
    """Whether a test of this name is one that a side of a claim's test is about."""
    words = dict(re.findall(r"%(\w+)=(\S+)", name))
    call = words["call"].split(":")
    method, _, mode = side.get("method", call[0]).partition(":")
    parameters = {k: str(v) for k, v in side.items() if k in words and k != "processes"}
    return (
        (method == call[0] and (not mode or call[1:] == [mode]))
        and all(words[k] == v for k, v in parameters.items())
        and side.get("test", name.split()[0]) == name.split()[0]
        and not set(side) - OF_ANY_NAME - set(words)
    )


@pytest.mark.slow
def test_what_a_claim_says_to_run_supplies_what_it_asks_for(tmp_path: Path) -> None:
    """Each pattern of names finds tests, and each side of each test is among them."""
    newer = {**os.environ, "IOGAUGE_STACKS": "openmpi mpich trixie-openmpi"}
    asked = [shlex.split(options) for one in claims.load() for options in one.run]
    patterns = {words[i + 1] for words in asked for i, word in enumerate(words) if word == "-n"}
    wanted = [word for name in sorted(patterns) for word in ("-n", name)]
    every = reframe(tmp_path, "-l", *wanted, environment=newer).listed
    for one in claims.load():
        chosen: set[str] = set()
        for options in one.run:
            words = shlex.split(options)
            names = [words[i + 1] for i, word in enumerate(words) if word == "-n"]
            for name in names:  # as ReFrame does it
                found = {n for n in every if re.search(name, n.replace(" ", ""))}
                assert found, f"{one.id}: -n {name!r} finds no test"
                chosen |= found
        assert {n for n in every if n in chosen and "%scale=paper" in n} == set(), one.id
        for test in one.tests:
            for side in [test[s] for s in ("a", "b") if s in test] or [{}]:
                fits = [n for n in chosen if _asks({**test["where"], **side}, n)]
                assert fits, f"{one.id}: no test of {side} among {sorted(chosen)}"


def test_an_unknown_claim_is_a_usage_error(tmp_path: Path) -> None:
    done = run_analysis("claims", "C99")
    assert done.returncode == 2
    assert "C99: no such claim" in done.stderr


def test_all_kinds_are_used() -> None:
    assert {test["kind"] for one in claims.load() for test in one.tests} == set(KINDS)


@pytest.mark.parametrize(
    ("word", "found"),
    [("nfs", ["nfs", "nfs4"]), ("ceph", ["ceph", "fuse.ceph-fuse"]), ("pvfs2", ["pvfs2"])],
)
def test_a_file_system_is_known_by_each_type_that_it_shows(word: str, found: list[str]) -> None:
    """A claim about NFS is about version 4 too, which /proc/mounts calls nfs4."""
    sql, values = selection.keys_condition({"fs_type": word})
    types = "(VALUES ('nfs'), ('nfs4'), ('pvfs2'), ('ceph'), ('fuse.ceph-fuse')) AS t(fs_type)"
    named = f"(SELECT fs_type, 'verified' AS verdict FROM {types})"
    rows = duckdb.execute(f"SELECT fs_type FROM {named} WHERE {sql} ORDER BY 1", values).fetchall()
    assert [row[0] for row in rows] == found
