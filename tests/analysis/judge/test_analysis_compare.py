# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons: who is compared with whom, what is said of it, and the gate."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from iogauge.analysis.judge import compare_references
from iogauge.analysis.judge.compare_runs import Question
from iogauge.analysis.store import database
from iogauge.analysis.store.ingest import ingest
from tests import analysis_made as made
from tests.analysis_recorded import DATA, run_analysis, s3d

MPIIO, POSIX = s3d("mpiio:collective"), s3d("posix")
OPENMPI, MPICH = (MPIIO, "openmpi"), (MPIIO, "mpich")
LOADS = [100.0, 140.0, 60.0, 220.0, 180.0, 80.0, 120.0, 160.0]


def rows(*arguments: object) -> list[dict[str, Any]]:
    done = run_analysis("compare", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight sessions each under a different load, in which MPICH is always twice as fast."""
    return made.store(
        tmp_path_factory.mktemp("twice"),
        [{OPENMPI: [load] * 3, MPICH: [2 * load] * 3} for load in LOADS],
    )


def test_golden_csv(twice: Path) -> None:
    """Worked out by hand: medians 130 and 260 of the loads, and each pair's ratio is 2."""
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--csv", "--store", twice)
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_compare.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden


def test_a_job_is_one_sample_whatever_its_repeats(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 20, MPICH: [50] * 20}])
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--store", store)
    assert "1 pair; 6 needed" in " ".join(done.stdout.split())
    row = rows("openmpi", "mpich", "--by", "stack", "--store", store)[0]
    assert (row["ratio"], row["low"], row["verdict"]) == (0.5, None, "not decided yet")


@pytest.mark.parametrize(("jobs", "verdict"), [(5, "not decided yet"), (6, "slower")])
def test_jobs_of_one_round_are_pairs(tmp_path: Path, jobs: int, verdict: str) -> None:
    values = {OPENMPI: [100 + n for n in range(jobs)], MPICH: [50 + n for n in range(jobs)]}
    row = rows("openmpi", "mpich", "--by", "stack", "--store",
               made.store(tmp_path, [values], jobs=True))[0]  # fmt: skip
    assert (row["samples"], row["verdict"]) == (f"{jobs} pairs", verdict)


def test_repeats_in_a_row_are_no_pairs(tmp_path: Path) -> None:
    """All jobs of A and then all of B, as ReFrame's --repeat runs them: one sample each."""
    values = {OPENMPI: [100.0] * 8, MPICH: [50.0] * 8}
    one = made.split(made.session(tmp_path / "s", values))
    one.edit(lambda report: report["session_info"].pop("order_seed"))
    ingest(one.report, tmp_path / "store")
    row = rows("openmpi", "mpich", "--by", "stack", "--store", tmp_path / "store")[0]
    assert (row["samples"], row["verdict"]) == ("1, 1 session", "not decided yet")


def test_a_row_shows_the_sides_of_its_pairs(tmp_path: Path) -> None:
    """Of jobs that only A has nothing is in `a`."""
    alone = {OPENMPI: [1000] * 3}
    both = {OPENMPI: [100] * 3, MPICH: [50] * 3}
    row = rows("openmpi", "mpich", "--by", "stack", "--store",
               made.store(tmp_path, [alone, alone, alone, both]))[0]  # fmt: skip
    assert (row["a"], row["b"], row["ratio"]) == (100, 50, 0.5)


def test_a_time_that_grows_is_slower(twice: Path) -> None:
    found = rows(
        "openmpi", "mpich", "--by", "stack", "--quantity", "write_seconds", "--store", twice
    )
    assert found[0]["ratio"] == pytest.approx(found[0]["a"] / found[0]["b"])


@pytest.mark.parametrize(
    ("arguments", "ratio"),
    [
        (("last~1", "last"), 160 / 120),
        (("2026-11-20..2026-11-20", "2026-11-23", "--by", "date"), 2.2),
        (("null", "mpiio:collective", "--by", "method"), None),
    ],
)
def test_what_a_and_b_can_be(twice: Path, arguments: tuple[str, ...], ratio: float | None) -> None:
    done = run_analysis("compare", *arguments, "--json", "--store", twice)
    if ratio is None:
        assert done.returncode == 3
        assert "no case has runs of both" in done.stderr
    else:
        found = [row["ratio"] for row in json.loads(done.stdout)]
        assert found == pytest.approx([ratio] * 4)  # two stacks, write and read


def test_methods_are_compared_on_the_same_stack(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 6, (POSIX, "openmpi"): [300] * 6,
                                   (POSIX, "mpich"): [900] * 6}])  # fmt: skip
    found = rows("mpiio:collective", "posix", "--by", "method", "--store", store)
    assert [(row["stack"], row["quantity"], row["ratio"]) for row in found] == [
        ("openmpi", "write_bw", pytest.approx(3)), ("openmpi", "read_bw", pytest.approx(3)),
    ]  # fmt: skip


def test_efficiency_is_of_the_same_repeats_peak(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [200, 100, 400, 200, 200, 200]}])
    row = rows("last", "peak", "--store", store)[0]
    assert (row["value"], row["peak"], row["efficiency"]) == (200, 800, 0.25)


def test_any_number_of_sessions_is_judged_a_few_at_a_time(
    twice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of a few sessions is forgotten before the next, and no answer differs."""
    known, places = [], compare_references._places

    def spy(*asked: Any) -> dict[int, Any]:
        known.append(len(found := places(*asked)))
        return found

    monkeypatch.setattr(compare_references, "_places", spy)
    answers = []
    for few in (1, 3, len(LOADS)):
        known.clear()
        monkeypatch.setattr(compare_references, "SESSIONS", few)
        question = Question("openmpi", by="stack")
        found = compare_references.with_peak(database.connect(twice), database.Where(), question)
        answers.append([{**row, "document": ""} for row in found])
        assert len(known) == -(-len(LOADS) // few)
        assert max(known) == 2 * few  # writes and reads of each
    assert [row["left_out"] for row in answers[0]] == [0, 0]
    assert answers[0] == answers[1] == answers[2]


def test_golden_peak(tmp_path: Path) -> None:
    """200 of a peak of 800 in each of six jobs."""
    store = made.store(tmp_path, [{OPENMPI: [200] * 6}], jobs=True)
    done = run_analysis("compare", "last", "peak", "--csv", "--store", store)
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_peak.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden


def test_published_numbers_give_no_verdict(tmp_path: Path) -> None:
    name = s3d("pnetcdf:collective")
    store = made.store(tmp_path, [{(name, "openmpi"): [100] * 6}])
    done = run_analysis("compare", "last", "published", "--store", store)
    assert done.returncode == 3  # S3D-IO's number is of nonblocking calls
    assert "no run of 'last' (--by session) has a published number beside it" in done.stderr
    done = run_analysis("compare", "last", "published", "--fail-slower", "5%", "--store", store)
    assert done.returncode == 2


def gate(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--fail-slower", "5%",
                        "--json", "--store", store, *words)  # fmt: skip


@pytest.mark.parametrize(("b", "outcome", "code"), [(50, "slower", 1), (100, "not slower", 0)])
def test_the_gate(tmp_path: Path, b: float, outcome: str, code: int) -> None:
    """Eight pairs of two quantities."""
    sessions = [{OPENMPI: [100.0 + n] * 3, MPICH: [b + n] * 3} for n in range(8)]
    done = gate(made.store(tmp_path, sessions))
    assert done.returncode == code, done.stderr
    assert {row["gate"].partition(":")[0] for row in json.loads(done.stdout)} == {outcome}
    assert f"2 {outcome}" in done.stderr


def test_a_small_loss_passes_the_gate(tmp_path: Path) -> None:
    done = gate(made.store(tmp_path, [{OPENMPI: [100] * 3, MPICH: [97] * 3}] * 8))
    assert done.returncode == 0
    assert {row["verdict"] for row in json.loads(done.stdout)} == {"slower"}
    assert "slower, but by less than the gate allows" in done.stdout


def test_repeats_of_one_job_never_decide(tmp_path: Path) -> None:
    """Ten times slower, in each of many repeats of one job."""
    store = made.store(tmp_path, [{OPENMPI: [100] * 20, MPICH: [10] * 20}])
    done = gate(store)
    assert done.returncode == 3
    assert "gate not decided: 2 undecided" in done.stderr
    assert "1 pair of jobs, 6 needed" in done.stderr
    assert gate(store, "--allow-undecided").returncode == 0


def test_a_case_that_is_gone_breaks_the_gate(tmp_path: Path) -> None:
    sessions = [{OPENMPI: [100 + n] * 3, MPICH: [100 + n] * 3} for n in range(8)]
    posix = (s3d("posix"), "openmpi")
    store = made.store(tmp_path, [session | {posix: [300] * 3} for session in sessions])
    done = gate(store, "--allow-undecided")
    assert done.returncode == 1
    rows = [row for row in json.loads(done.stdout) if row["method"] == "posix"]
    assert {row["gate"] for row in rows} == {"missing"} and {row["a"] for row in rows} == {300}
    assert "gate broken: " in done.stderr and "s3d smoke posix" in done.stderr


def _at(document: dict[str, Any], path: str, value: float) -> None:
    """Set a number of the document, or of each of its samples."""
    *above, last = path.split()
    for part in (document,) if path in document else document["samples"]:
        for word in above:
            part = part[word]
        part[last] = value


NUMBERS = {"file_bytes": "file_bytes", "write_library_calls": "write library_calls",
           "write_phase_close": "write phases close max",
           "ceiling_shared_read": "ceilings shared read"}  # fmt: skip


@pytest.mark.parametrize("quantity", NUMBERS)
def test_what_is_better_depends_on_the_quantity(tmp_path: Path, quantity: str) -> None:
    """Twice as many bytes, calls or seconds break a gate; twice the speed does not. None can be
    judged by a ratio if it is zero."""
    zero = (0,) if quantity.startswith("write") else ()  # no document has the others' zero
    for factor in (2, *zero):
        one = made.session(tmp_path / f"s{factor}", {OPENMPI: LOADS, MPICH: LOADS})
        for case, number in ((OPENMPI, 10), (MPICH, 10 * factor)):
            one.edit_document(*case, partial(_at, path=NUMBERS[quantity], value=number))
        ingest(made.split(one).report, store := tmp_path / f"store{factor}")
        done = gate(store, "--quantity", quantity)
        if factor:
            (row,) = json.loads(done.stdout)
            assert (row["a"], row["b"]) == (10, 20)
            assert (row["ratio"], done.returncode) == ((2, 0) if "ceil" in quantity else (0.5, 1))
        else:
            told = f"iogauge: {quantity}: a run has 0; expected values above 0\n"
            assert (done.returncode, done.stderr) == (2, told)
            done = run_analysis("history", "--quantity", quantity, "--store", store)
            assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize("command", [("compare", "last~1", "last"), ("history",)])
def test_an_unknown_quantity_is_named(twice: Path, command: tuple[str, ...]) -> None:
    for word, meant in (("write_bandwidht", "write_bw"), ("write_phase_flsh", "write_phase_flush")):
        done = run_analysis(*command, "--quantity", word, "--where", "fs=ram", "--store", twice)
        assert done.returncode == 2
        assert done.stderr.startswith(f"iogauge: --quantity {word!r} is unknown; ")
        assert meant in done.stderr


SIDES = {"stack": ("openmpi", "mpich"), "session": ("last~1", "last"),
         "date": ("2026-11-20", "2026-11-21")}  # fmt: skip


@pytest.mark.parametrize(
    ("by", "jobs", "document", "where"),
    [
        ("stack", [0], False, []), ("stack", range(1, 8, 2), True, []),
        ("stack", [3], False, ["fsync=true", "hints=none"]), ("session", [7], True, []),
        ("date", range(8), False, ["mpi=4"]), ("session", range(7), False, ["scale=smoke"]),
    ],
)  # fmt: skip
def test_failed_jobs_of_b_break_the_gate(
    tmp_path: Path, by: str, jobs: Sequence[int], document: bool, where: list[str]
) -> None:
    """Few or all, whether they left a result or not, and whatever the rest reached."""
    values = {OPENMPI: LOADS, MPICH: [2 * load for load in LOADS], (POSIX, "mpich"): LOADS}
    for day in range(2):
        one = made.split(made.session(tmp_path / f"s{day}", values, day=day))
        if day == 1:
            made.crash(one, *MPICH, jobs, document)
        ingest(one.report, tmp_path / "store")
    words = [f"--where={word}" for word in where]
    done = run_analysis("compare", *SIDES[by], "--by", by, "--fail-slower", "5%", "--json",
                        "--store", tmp_path / "store", *words, "--allow-undecided")  # fmt: skip
    assert done.returncode == 1, done.stderr
    failed = [row for row in json.loads(done.stdout) if row["gate"].startswith("failed")]
    assert {(row["stack"], row["quantity"]) for row in failed} == {
        ("" if by == "stack" else "mpich", quantity) for quantity in ("write_bw", "read_bw")
    }
    assert {row["method"] for row in failed} == {"mpiio"}
    said = f"failed: {len(jobs)} of {16 if by == 'stack' else 8} jobs: it ran out of memory"
    assert all(row["fails"] and row["gate"] == said for row in failed)


@pytest.mark.parametrize(
    ("words", "loads"),
    [
        (["session=last"], [160]), (["session=last~1,last"], [120, 160]),
        (["date=2026-11-20..2026-11-22"], [100, 140, 60]), (["method=mpiio:collective"], LOADS),
        (["hints=none", "method=posix,mpiio:collective", "date=2026-11-20,2026-11-23"],
         [100, 220]),
    ],
)  # fmt: skip
def test_where_takes_the_words_of_the_two_sides(
    twice: Path, words: list[str], loads: list[float]
) -> None:
    where = [text for word in words for text in ("--where", word)]
    for row in rows("openmpi", "mpich", "--by", "stack", *where, "--store", twice):
        assert (row["a"], row["b"]) == (median(loads), 2 * median(loads))


def test_an_accepted_change_keeps_the_sessions_name(tmp_path: Path) -> None:
    """Not `last`, which is another one tomorrow."""
    store = made.store(tmp_path, [{OPENMPI: [100] * 3}] * 2)
    words = ["--where", "session=last", "--why", "new", "--store", store]
    assert run_analysis("expect", "accept", *words).returncode == 0
    (row,) = json.loads(run_analysis("expect", "list", "--json", "--store", store).stdout)
    assert re.fullmatch(r"session=[0-9a-f-]{36}", row["where"])


WRONG = ["stack", "=x", "a b=c", "pattern=s3d,stack=mpich", "pattern=s3d,mpi=4.1"]


@pytest.mark.parametrize("word", WRONG)
def test_a_wrong_condition_is_named(twice: Path, word: str) -> None:
    done = run_analysis("compare", "last~1", "last", "--where", word, "--store", twice)
    assert done.returncode == 2
    assert f"--where {word}: expected KEY=VALUE" in done.stderr


@pytest.mark.parametrize("word", ["five", "100%", "-3"])
def test_a_wrong_percentage_is_named(word: str) -> None:
    assert run_analysis("compare", "a", "b", f"--fail-slower={word}").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("2026-13-45", "2026-11-20", "--by", "date"), "2026-13-45: expected a date"),
        (("yesterday", "today", "--by", "date"), "expected a date as 2026-11-20"),
        (("a", "b", "--by", "x' OR 1"), '--by "x\' OR 1" is unknown; use one of session, stack'),
        (("last~99", "last"), "last~99: the store has fewer sessions"),
        (("", "last"), "'' and 'last' (--by session): expected two sides without a common run"),
        (("last", "last"), "'last' and 'last' (--by session): expected two sides without a common"),
        (("mpiio", "mpiio:collective", "--by", "method"), "two sides without a common run"),
        (("2026-11-20..2026-11-22", "2026-11-22", "--by", "date"), "without a common run"),
        (("last", "peak", "--fail-slower", "5%"), "--fail-slower: peak gives no verdict; expected"),
    ],
)
def test_wrong_sides_are_named(twice: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_analysis("compare", *arguments, "--store", twice)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def _named(report: dict[str, Any], name: str) -> None:
    report["session_info"].update(uuid=name)


def test_a_sessions_name_is_one_sessions(tmp_path: Path) -> None:
    """Letters that several names begin with are refused everywhere; a whole name is one."""
    for name in ("abc-1", "abc-10", "abd-2"):
        one = made.session(tmp_path / name, {OPENMPI: [100] * 3})
        one.edit(partial(_named, name=name))
        ingest(one.report, tmp_path / "store")
    several = {"ab": "3: abc-1, abc-10, abd-2", "abc": "2: abc-1, abc-10"}
    for word in ("ab", "abc", "abc-1", "abc-10", "abd"):
        for words in (("compare", word, "peak"), ("history", f"--where=session={word}")):
            done = run_analysis(*words, "--store", tmp_path / "store")
            assert done.returncode == (2 if word in several else 0), done.stderr
            if word in several:
                assert f"{word}: expected one session, found {several[word]}\n" in done.stderr


def test_quotes_in_values_are_only_text(twice: Path) -> None:
    where = "pattern=s3d' OR '1'='1"
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--where", where,
                        "--store", twice)  # fmt: skip
    assert done.returncode == 3
    assert "no case has runs of both" in done.stderr


def test_a_broken_file_of_the_store_is_named_and_hides_no_other(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 3}, {OPENMPI: [100] * 3}])
    broken = next(store.rglob("*.parquet"))
    broken.write_bytes(broken.read_bytes()[:500])
    done = run_analysis("compare", "last~1", "last", "--store", store)
    assert done.returncode == 2
    *said, problem = done.stderr.splitlines()
    assert said[0] == f"{broken}: left out: it is not a Parquet file, or is truncated"
    assert f"iogauge store add --store {store}" in said[1]
    assert problem == "iogauge: last~1: the store has fewer sessions"  # one is left
