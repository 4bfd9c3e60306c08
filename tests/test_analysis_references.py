# SPDX-License-Identifier: BSD-3-Clause
"""References: what is published, what a site's history expects, and mistakes in the files."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import ReferenceFileError
from analysis.judge import claims, references
from tests import analysis_made as made
from tests.analysis_recorded import DATA, ROOT, run_analysis, s3d
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
    "twice the same": ("published.yaml", "id: cetus\n", "id: paio-sc45\n", "stands twice"),
    "no YAML": ("published.yaml", "    columns: [fs, value]", "    columns: [fs, value", ""),
    "other version": (
        "published.yaml", "iogauge.published/1", "iogauge.published/2",
        "'iogauge.published/1' was expected",
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
    assert [claim.id for claim in claims.load()] == [f"C{n}" for n in range(1, 20)]


# ---------------------------------------------------------------- a site's own


def test_learn_writes_what_reframe_takes(tmp_path: Path, folder: Path) -> None:
    """Runs of 100, 101, ... 120: 5 % and 95 % quantiles 101 and 119, 5 % of 110 beyond."""
    store = made.store(tmp_path, [{CASE: [100 + n] * 3} for n in range(21)])
    done = run_analysis("learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 0, done.stderr
    key = ("host", "openmpi", MPIIO, 2, True, "")
    found: dict[str, Any] = references.for_reframe("local", "host", key, folder)
    assert found == {
        "local:host": {
            name: (110.0, pytest.approx(95.5 / 110 - 1), None, "MiB/s")
            for name in ("write_bw", "read_bw")
        }
    }
    assert references.for_reframe("local", "host", (*key[:3], 4, True, ""), folder) == {}


def test_golden_learn(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, [{CASE: [100 + n] * 3} for n in range(21)])
    done = run_analysis("learn", "local", "--store", store, "--references", folder, "--csv")
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_learn.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden
    assert not (folder / "sites" / "local.yaml").exists()


def test_golden_reference(tmp_path: Path, folder: Path) -> None:
    """Learned from 21 runs of 100, ... 120 (110, from 95.5 to 124.5); then six repeats of 88 each:
    0.8 of what is expected, and below the bound; and six of 110."""
    history = made.store(tmp_path / "a", [{CASE: [100 + n] * 3} for n in range(21)])
    run_analysis("learn", "local", "--store", history, "--references", folder)
    found, codes = [], []
    for name, bandwidth in (("slow", 88.0), ("right", 110.0)):
        store = made.store(tmp_path / name, [{CASE: [bandwidth] * 6}])
        done = run_analysis("compare", "last", "reference", "--fail-slower", "5%", "--csv",
                            "--store", store, IOGAUGE_REFERENCES=str(folder))  # fmt: skip
        codes.append(done.returncode)
        found += list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_reference.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden
    assert codes == [1, 0]


@pytest.mark.parametrize("runs", [1, 7])
def test_learn_refuses_with_the_count(tmp_path: Path, folder: Path, runs: int) -> None:
    store = made.store(tmp_path, [{CASE: [100, 100, 100]}] * runs)
    done = run_analysis("learn", "local", "--store", store, "--references", folder)
    assert done.returncode == 3
    assert f"write_bw has {runs} of 8 runs" in done.stderr
    assert f"no case has 8 runs; 2 cases have at most {runs}" in done.stderr
    assert not (folder / "sites" / "local.yaml").exists()


def test_a_mistake_in_a_site_file_is_named_with_its_line(tmp_path: Path, folder: Path) -> None:
    store = made.store(tmp_path, [{CASE: [100] * 3}] * 8)
    run_analysis("learn", "local", "--store", store, "--references", folder)
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


def test_a_run_below_its_reference_fails_and_stays_in_the_history(tmp_path: Path) -> None:
    """For real: a write bound that no memory reaches, and a read bound that all pass by far."""
    sites = tmp_path / "references" / "sites"
    sites.mkdir(parents=True)
    (sites / "local.yaml").write_text(SITE)
    session = reframe(
        tmp_path / "output", "-n", "S3d.*fs=ram.*call=posix%.*smoke", "-p", "openmpi", "-r",
        "-S", "num_tasks=2", "--system", "local", tests="s3d.py",
        environment={**os.environ, "IOGAUGE_REFERENCES": str(tmp_path / "references")},
    )  # fmt: skip
    assert session.status == 1
    assert "failed to meet reference(s): write_bw=" in session.text
    assert "read_bw=" not in session.text.split("failed to meet reference(s)")[1].split("\n")[0]
    arguments = ("--output", tmp_path / "output", "--store", tmp_path / "store")
    assert run_analysis("ingest", *arguments).returncode == 0
    done = run_analysis("compare", "last", "peak", "--json", "--store", tmp_path / "store")
    assert len(json.loads(done.stdout)) == 2
