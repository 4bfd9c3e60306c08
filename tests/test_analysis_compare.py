# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons: who is compared with whom, what is said of it, and the gate."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.judge import comparison
from analysis.judge.sides import Group
from tests import analysis_made as made
from tests.analysis_recorded import DATA, run_analysis, s3d

MPIIO, POSIX = s3d("mpiio:collective"), s3d("posix")
OPENMPI, MPICH = (MPIIO, "openmpi"), (MPIIO, "mpich")


def rows(*arguments: object) -> list[dict[str, Any]]:
    done = run_analysis("compare", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight sessions with a load of their own, in which MPICH is always twice as fast."""
    loads = (100, 140, 60, 220, 180, 80, 120, 160)
    return made.store(
        tmp_path_factory.mktemp("twice"),
        [{OPENMPI: [load] * 3, MPICH: [2 * load] * 3} for load in loads],
    )


def test_golden_csv(twice: Path) -> None:
    """Worked out by hand: medians 130 and 260 of the loads, and each pair's ratio is 2."""
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--csv", "--store", twice)
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_compare.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden


def test_repeats_are_the_samples_where_runs_are_few(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 6, MPICH: [50] * 6}])
    row = rows("openmpi", "mpich", "--by", "stack", "--store", store)[0]
    assert (row["ratio"], row["low"], row["high"]) == (0.5, 0.5, 0.5)
    assert (row["samples"], row["verdict"]) == ("6, 6 repeats", "slower")


def test_three_repeats_are_too_few(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 3, MPICH: [50] * 3}])
    row = rows("openmpi", "mpich", "--by", "stack", "--store", store)[0]
    assert (row["ratio"], row["low"], row["verdict"]) == (0.5, None, "too few samples")


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
        (("mpiio", "mpiio:collective", "--by", "method"), None),
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
        ("openmpi", "write_bw", 3.0), ("openmpi", "read_bw", 3.0),
    ]  # fmt: skip


def test_efficiency_is_of_the_same_repeats_peak(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [200, 100, 400, 200, 200, 200]}])
    row = rows("last", "peak", "--store", store)[0]
    assert (row["value"], row["peak"], row["efficiency"]) == (200, 800, 0.25)


def test_golden_peak(tmp_path: Path) -> None:
    """200 of a peak of 800 in each of six repeats."""
    store = made.store(tmp_path, [{OPENMPI: [200] * 6}])
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


@pytest.mark.parametrize(
    ("b", "said", "code"),
    [("mpich", "slower", 1), ("openmpi", "no difference seen", 0)],
)
def test_the_gate(tmp_path: Path, b: str, said: str, code: int) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 8, MPICH: [50] * 8}])
    done = run_analysis("compare", "openmpi", b, "--by", "stack", "--fail-slower", "5%",
                        "--json", "--store", store)  # fmt: skip
    if b == "openmpi":  # the same runs cannot be on both sides
        assert done.returncode == 3
        return
    assert done.returncode == code
    assert {row["verdict"] for row in json.loads(done.stdout)} == {said}


def test_a_small_loss_passes_the_gate(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 8, MPICH: [97] * 8}])
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--fail-slower", "5%",
                        "--json", "--store", store)  # fmt: skip
    assert done.returncode == 0
    assert {row["verdict"] for row in json.loads(done.stdout)} == {"slower"}


def test_false_alarms_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of gates over 10 cases without any difference, at most one in 20 fails: 400 simulations,
    and a noise (20 %) with which medians often differ by more than the 5 % that are allowed."""
    monkeypatch.setattr("analysis.judge.interval.DRAWS", 1000)
    monkeypatch.setattr("analysis.judge.interval.MOST_DRAWS", 4000)
    generator = np.random.default_rng(5)

    def group(side: int) -> Group:
        values = generator.lognormal(0, 0.2, 12)
        runs: dict[tuple[str, int], tuple[float, ...]] = {
            (f"{side} {i}", 0): (float(v),) for i, v in enumerate(values)
        }
        return Group((), side, "write_bw", "MiB/s", runs, {})

    alarms = sum(
        any(comparison.fails(group(0), group(1), 0.05, 10) for _ in range(10)) for _ in range(400)
    )
    assert alarms / 400 <= 0.05


@pytest.mark.parametrize("word", ["stack", "=x", "a b=c"])
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
        (("a", "b", "--by", "x' OR 1"), "--by x' OR 1: expected session"),
        (("last~99", "last"), "last~99: the store has not so many sessions"),
    ],
)
def test_wrong_sides_are_named(twice: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_analysis("compare", *arguments, "--store", twice)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_quotes_in_values_are_only_text(twice: Path) -> None:
    where = "pattern=s3d' OR '1'='1"
    done = run_analysis("compare", "openmpi", "mpich", "--by", "stack", "--where", where,
                        "--store", twice)  # fmt: skip
    assert done.returncode == 3
    assert "no case has runs of both" in done.stderr


def test_a_broken_file_of_the_store_is_named(tmp_path: Path) -> None:
    store = made.store(tmp_path, [{OPENMPI: [100] * 3}, {OPENMPI: [100] * 3}])
    broken = next(store.rglob("*.parquet"))
    broken.write_bytes(broken.read_bytes()[:500])
    done = run_analysis("compare", "last~1", "last", "--store", store)
    assert done.returncode == 3
    assert broken.name in done.stderr
    assert done.stderr.count("\n") == 1
