# SPDX-License-Identifier: BSD-3-Clause
"""References: what is published, what a site's history expects, and mistakes in the files."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from iogauge.analysis.errors import ReferenceFileError
from iogauge.analysis.judge import claims, references
from iogauge.analysis.statistics import prediction
from iogauge.analysis.store import database
from iogauge.analysis.store.ingest import ingest
from iogauge.measure.kernels import build_for_tests
from tests import analysis_made as made
from tests.analysis_recorded import DATA, ROOT, Recorded, run_analysis, s3d
from tests.reframe_session import reframe

MPIIO = s3d("mpiio:collective")
CASE = (MPIIO, "openmpi")


def test_every_published_number_has_what_it_needs() -> None:
    numbers = references.published()
    assert len(numbers) > 90
    assert {number.tag for number in numbers} == {"S", "V"}
    assert all(number.conditions and number.source and number.system for number in numbers)


@pytest.mark.parametrize(
    ("name", "parameters", "value", "unit"),
    [
        ("idris-layout", {"layout": "level-major", "method": "mpiio:collective"}, 810, "MiB/s"),
        ("idris-layout", {"layout": "process-major", "method": "mpiio:independent"}, 342, "MiB/s"),
        ("idris-hints-write", {"hint_set": "cb-disable"}, 6784.7, "s"),
        ("idris-hints-read", {"hint_set": "cb-enable-ds-disable"}, 61.3, "s"),
        ("s3d-bandwidth", {"quantity": "write_bw"}, 17201.53, "MiB/s"),
        ("cgns-read", {"file_mb": 417, "processes": 50}, 4, "s"),
        ("cgns-pvfs2-create", {"zone": 250}, 11.7, "s"),
        ("cetus", {"quantity": "read_stretch_arrays"}, 158, "s"),
        ("cetus-256", {"quantity": "write_stretch_fields"}, 61, "s"),
        ("cetus-in-mpi", {"quantity": "read_mpi_fields"}, 78, "s"),
        ("cetus-total", {"processes": 256}, 439, "s"),
        ("idris-hdf5-crash", {"machine": "Power 6"}, 1024, "processes"),
        ("paio-altix-direct", {}, 298, "MB/s"),
        ("paio-altix", {"send": "zero-copy"}, 735, "MB/s"),
    ],
)
def test_numbers_as_they_are_printed(
    name: str, parameters: dict[str, object], value: float, unit: str
) -> None:
    found = [
        n for n in references.published()
        if n.id == name and parameters.items() <= {**n.run, **n.parameters}.items()
    ]  # fmt: skip
    assert [(n.value, n.unit) for n in found] == [(value, unit)]


def test_a_number_that_names_a_pattern_is_one_that_a_run_has(tmp_path: Path) -> None:
    """In a unit that the number can be converted to; another never stands beside a run."""
    for name in ("session", "session-all"):
        ingest(Recorded(tmp_path / name, name).report, tmp_path / "store")
    sql = "SELECT DISTINCT pattern, quantity, unit FROM records"
    units = {
        (row["pattern"], row["quantity"]): row["unit"]
        for row in database.rows(database.connect(tmp_path / "store"), sql, [])
    }
    for number in references.published():
        if "pattern" in number.run:
            unit = units.get((number.run["pattern"], number.quantity))
            assert unit, f"line {number.line}: no run of {number.run} has {number.quantity}"
            converted = number.in_unit(unit) != number.value
            assert converted or number.unit == unit, f"line {number.line}: {number.unit}, {unit}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "references", tmp_path / "references"))


MISTAKES = {
    "unknown key": ("published.yaml", "    tag: S\n", "    tagg: S\n", "unknown key 'tagg'"),
    "unknown tag": ("published.yaml", "tag: V\n", "tag: D\n", "'D' is not one of ['S', 'V']"),
    "unknown source": ("published.yaml", "source: paio\n", "source: paoi\n", "'paoi' is not among"),
    "a text for a number": (
        "published.yaml", '"mpiio:ordered", 197]', '"mpiio:ordered", l97]',
        "value: expected a number above zero, found 'l97'",
    ),
    "one value too few": (
        "published.yaml", "[57, paper-128, 4, 1.25]", "[57, 4, 1.25]", "expected 4 values",
    ),
    "unknown unit": ("published.yaml", "unit: Gbit/s", "unit: Gbits", "'Gbits' is not one of"),
    "twice the same": ("published.yaml", "id: cetus\n", "id: paio-sc45\n", "appears twice"),
    "no YAML": ("published.yaml", "    columns: [fs, value]", "    columns: [fs, value", ""),
    "other version": (
        "published.yaml", "iogauge.published/1", "iogauge.published/2",
        "published file of a newer iogauge",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_named_with_its_line(kind: str, folder: Path) -> None:
    name, right, wrong, said = MISTAKES[kind]
    path = folder / name
    text = path.read_text()
    assert right in text
    line = text[: text.index(right)].count("\n") + 1
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(ReferenceFileError) as error:
        references.published(folder)
    assert said in str(error.value)
    number = int(str(error.value).removeprefix(f"{path}:").split(":")[0])
    if kind == "no YAML":
        assert abs(number - line) <= 1  # where the parser notices
    elif kind == "twice the same":
        assert number > line  # the second one
    else:
        assert number == line


def test_a_mistake_in_a_claim_is_named_with_its_line(folder: Path) -> None:
    path = folder / "claims.yaml"
    text = path.read_text()
    line = text[: text.index("  - id: C3")].count("\n") + 2
    path.write_text(text.replace('says: "PnetCDF', 'sayz: "PnetCDF', 1))
    done = run_analysis("claims", "--references", folder)
    assert done.returncode == 3
    assert f"{path}:{line}: unknown key 'sayz'" in done.stderr


def test_all_claims_are_there() -> None:
    assert [claim.id for claim in claims.load()] == [f"C{n}" for n in range(1, 29)]


# ---------------------------------------------------------------- a site's own


def night(number: int) -> int:
    """21 nights of 100 ... 120, in an order in which neighbours are not alike."""
    return 100 + number * 8 % 21


HISTORY: list[made.Values] = [{CASE: [night(n)] * 3} for n in range(21)]


def bound_low() -> float:
    """What scipy's t says of 21 nights: two references, so 1 of 1000 nights for each."""
    logs = np.log([night(n) for n in range(21)])
    return float(np.exp(logs.mean() - stats.t.isf(0.001, 20) * logs.std(ddof=1) * (22 / 21) ** 0.5))


@pytest.mark.parametrize("freedom", [1, 2, 3, 11, 12, 30])
@pytest.mark.parametrize("tail", [0.05, 0.001, 0.00025])
def test_students_t_is_scipys(freedom: int, tail: float) -> None:
    assert prediction.t_quantile(tail, freedom) == pytest.approx(stats.t.isf(tail, freedom))


def test_learn_writes_what_reframe_takes(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, HISTORY)
    done = run_analysis("expect", "learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 0, done.stderr
    key = ("host", "openmpi", MPIIO, 2, True, "")
    found: dict[str, Any] = references.for_reframe("local", "host", key, folder)
    assert found == {
        "local:host": {
            name: (110.0, pytest.approx(bound_low() / 110 - 1, abs=1e-3), None, "MiB/s")
            for name in ("write_bw", "read_bw")
        }
    }
    assert references.for_reframe("local", "host", (*key[:3], 4, True, ""), folder) == {}


def test_a_baseline_is_named_and_frozen(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, HISTORY)
    words = ("expect", "learn", "local", "--store", store, "--references", folder)
    done = run_analysis(*words, "--name", "autumn")
    said = (
        "baseline autumn: 2 references, from 21 sessions of 2026-11-20 to 2026-12-10; a false "
        "failure of one occurs once in 1000 nights, of any once in 500"
    )
    assert said in " ".join(done.stdout.split())
    path = folder / "sites" / "local.yaml"
    text = path.read_text()
    assert said in text
    baseline = yaml.safe_load(text)["baseline"]
    assert (baseline["name"], baseline["false_failures"]) == ("autumn", 0.001)
    assert len(set(baseline["sessions"])) == 21
    again = run_analysis(*words)
    assert again.returncode == 2 and "exists; --replace overwrites it" in again.stderr
    assert path.read_text() == text
    assert run_analysis(*words, "--replace").returncode == 0
    assert "name: local-2" in path.read_text()


@pytest.mark.parametrize(("noise", "wide"), [(1.05, False), (4.0, True)])
def test_a_bound_that_catches_little_is_told(
    tmp_path: Path, folder: Path, noise: float, wide: bool
) -> None:
    nights = [[100 * noise ** ((n * 7 % 21 - 10) / 10)] * 3 for n in range(21)]
    store = made.store(tmp_path, [{CASE: night} for night in nights])
    done = run_analysis("expect", "learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 0, done.stderr
    assert ("2 vary so much that they fail only below 1/5 of their value" in done.stderr) is wide


def test_one_job_of_a_night_is_its_sample(tmp_path: Path, folder: Path) -> None:
    """Jobs that follow the first in their session say nothing of other nights."""
    rounds = [{CASE: [night(n), 1.0, 999.0]} for n in range(21)]
    store = made.store(tmp_path, rounds, jobs=True)
    done = run_analysis(
        "expect", "learn", "local", "--json", "--store", store, "--references", folder
    )
    assert {(row["value"], row["samples"]) for row in json.loads(done.stdout)} == {(110.0, 21)}


def test_more_references_have_wider_bounds() -> None:
    """Any of all fails in one night of 20: so each of 200 in one of 4000."""
    nights = [float(night(n)) for n in range(21)]
    few, many = (prediction.bounds(nights, rate, 0)["low"] for rate in (0.001, 0.05 / 200))
    assert many < few < min(nights)


def test_golden_learn(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, HISTORY)
    done = run_analysis(
        "expect", "learn", "local", "--store", store, "--references", folder, "--csv"
    )
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_learn.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden
    assert [float(row["low"]) for row in found] == [pytest.approx(bound_low())] * len(found)
    assert not (folder / "sites" / "local.yaml").exists()


def test_golden_reference(tmp_path: Path, folder: Path) -> None:
    """Learned from 21 nights of 100, ... 120; then a job of 77, which is 0.7 of what is expected
    and below the bound; and one of 110."""
    history = made.store(tmp_path / "a", HISTORY)
    run_analysis("expect", "learn", "local", "--store", history, "--references", folder)
    found, codes = [], []
    for name, bandwidth in (("slow", 77.0), ("right", 110.0)):
        store = made.store(tmp_path / name, [{CASE: [bandwidth] * 3}])
        done = run_analysis("compare", "last", "reference", "--fail-slower", "5%", "--csv",
                            "--store", store, IOGAUGE_REFERENCES=str(folder))  # fmt: skip
        codes.append(done.returncode)
        found += list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_reference.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden
    assert bound_low() > 77
    assert codes == [1, 0]


@pytest.mark.parametrize(
    ("jobs", "document", "alone"),
    [([0], True, False), ([1, 2], False, False), (range(3), False, False), (range(3), False, True)],
)
def test_a_failed_job_breaks_the_gate_of_its_references(
    tmp_path: Path, folder: Path, jobs: Sequence[int], document: bool, alone: bool
) -> None:
    """Whether it left a result or not; of a case without a reference nothing is expected. A night
    of which nothing is left is not judged by the night before."""
    case = {"test": MPIIO, "partition": "host", "stack": "openmpi", "processes": 2}
    expected = {"value": 9, "low": 1, "high": 99, "unit": "MiB/s", "samples": 12}
    quantities = {"write_bw": expected, "read_bw": expected}
    site = {**yaml.safe_load(SITE), "references": [{"case": case, "values": quantities}]}
    (folder / "sites").mkdir()
    (folder / "sites" / "local.yaml").write_text(json.dumps(site))
    for night in (0, 1):
        values = {CASE: [9] * 3} if alone else {CASE: [9] * 3, (MPIIO, "mpich"): [9] * 3}
        one = made.split(made.session(tmp_path / f"{night}", values, day=night))
        for stack in ("openmpi", "mpich")[: len(values) * night]:
            made.crash(one, MPIIO, stack, jobs if stack == "openmpi" else [0], document)
        ingest(one.report, tmp_path / "store")
    done = run_analysis("compare", "last", "reference", "--fail-slower", "5%", "--json",
                        "--store", tmp_path / "store", IOGAUGE_REFERENCES=str(folder))  # fmt: skip
    assert done.returncode == 1, done.stderr
    why = f"failed: {len(jobs)} of 3 jobs: it ran out of memory"
    for quantity in quantities:
        assert f"{MPIIO} openmpi {quantity}: {why}" in done.stderr
    assert "mpich" not in done.stderr
    failed = [row for row in json.loads(done.stdout) if row["verdict"] == "failed"]
    assert [(row["stack"], row["reference"]) for row in failed] == [("openmpi", 9)] * 2


@pytest.mark.parametrize("nights", [1, 11])
def test_learn_refuses_with_the_count(tmp_path: Path, folder: Path, nights: int) -> None:
    store = made.store(tmp_path, HISTORY[:nights])
    done = run_analysis("expect", "learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 3
    assert f"write_bw has {nights} of 12 sessions" in done.stderr
    assert f"2 cases have at most {nights}" in done.stderr
    assert not (folder / "sites" / "local.yaml").exists()


def test_learn_refuses_nights_that_are_alike(tmp_path: Path, folder: Path) -> None:
    """A slow rise tells little of the spread."""
    store = made.store(tmp_path, [{CASE: [100 + n] * 3} for n in range(21)])
    done = run_analysis("expect", "learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 3
    assert "has 21 correlated sessions, worth 1 independent" in done.stderr


def test_a_mistake_in_a_site_file_is_named_with_its_line(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, HISTORY)
    run_analysis("expect", "learn", "local", "--store", store, "--references", folder)
    path = folder / "sites" / "local.yaml"
    text = path.read_text()
    line = text[: text.index("      low:")].count("\n") + 1
    path.write_text(text.replace("      low:", "      lwo:", 1))
    with pytest.raises(ReferenceFileError, match=f":{line}: unknown key 'lwo'"):
        references.site("local", folder)


def test_no_site_file_expects_nothing(folder: Path) -> None:
    assert references.site("nowhere", folder) == {}


SITE = """\
schema: iogauge.site/1
system: local
learned: "2026-11-21"
references:
  - case:
      test: "S3d %fs=ram %call=posix %scale=smoke"
      partition: host
      stack: openmpi
      processes: 2
    values:
      write_bw: {value: 2.0e+9, low: 1.0e+9, high: 3.0e+9, unit: MiB/s, samples: 8}
      read_bw: {value: 2.0e-3, low: 1.0e-3, high: 3.0e-3, unit: MiB/s, samples: 8}
"""


@pytest.mark.slow
def test_a_run_below_its_reference_fails_and_stays_in_the_history(tmp_path: Path) -> None:
    """For real: a write bound that no memory reaches, and a read bound that all pass by far."""
    sites = tmp_path / "references" / "sites"
    sites.mkdir(parents=True)
    (sites / "local.yaml").write_text(SITE)
    session = reframe(
        tmp_path / "output", "-n", "S3d.*fs=ram.*call=posix%.*smoke", "-p", "openmpi", "-r",
        "-S", f"kernel_path={build_for_tests('openmpi') / 'iokernel'}",
        "-S", "num_tasks=2", "--system", "local", tests="s3d.py",
        environment={**os.environ, "IOGAUGE_REFERENCES": str(tmp_path / "references")},
    )  # fmt: skip
    assert session.status == 1
    assert "failed to meet reference(s): write_bw=" in session.text
    assert "read_bw=" not in session.text.split("failed to meet reference(s)")[1].split("\n")[0]
    arguments = ("--output", tmp_path / "output", "--store", tmp_path / "store")
    assert run_analysis("store", "add", *arguments).returncode == 0
    done = run_analysis("compare", "last", "peak", "--json", "--store", tmp_path / "store")
    assert len(json.loads(done.stdout)) == 2
