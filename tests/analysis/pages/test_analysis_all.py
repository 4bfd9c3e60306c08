# SPDX-License-Identifier: BSD-3-Clause
"""A recorded session with all patterns: what each table of the report makes of it, beside tables
that were worked out by hand from the round numbers put in here."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.session import rows
from iogauge.analysis.session.loader import load_session
from iogauge.common.tables import names
from tests.analysis_made import split
from tests.analysis_recorded import DATA, Recorded, run_analysis

# These need somebody's log, or file.
WITH_INPUT = ("replay", "extents", "file")
PATTERNS = [name for name in names("patterns") if name not in WITH_INPUT]
REPEATS = 6
SHARED = "RamsesShared %fs=ram %contents=hydro %scale=smoke"
HINTS = "RamsesHints %fs=ram %contents=amr %scale=smoke %call=hdf5:collective %hint_set=cb"
PAIO = "Paio %fs=ram %scale=smoke %call=ioserver:posix %io_processes=1 %queue=above"
SERVERS = "PaioServers %fs=ram %scale=smoke %call=ioserver:mpiio %io_processes="
REST = " %queue=above %send=zero-copy"

Places = Mapping[str, float]  # of a sample: `write.bandwidth`, `write.phases.define.max`

# 100 MiB in 2 s, of which 1.5 s drain: 200 MiB/s are seen in 0.5 s, four times the direct 50, which
# takes 4 s: half of it is hidden. The servers were busy for 1 s: 100 MiB/s last.
PAIO_NUMBERS = {
    "write.bandwidth": 50, "write.seconds": 2, "write.phases.drain.max": 1.5,
    "direct.bandwidth": 50, "direct.seconds": 4, "queue.busy": 1, "queue.blocked": 0.25,
    "queue.peak": 50 * 2**20, "queue.limit": 100 * 2**20, "compute_seconds": 1,
}  # fmt: skip
NUMBERS: dict[tuple[str, str], Places] = {
    (f"{SHARED} %layout=level-major %call=mpiio:collective", "openmpi"): {"write.bandwidth": 400},
    (f"{SHARED} %layout=level-major %call=mpiio:independent", "openmpi"): {"write.bandwidth": 200},
    (f"{SHARED} %layout=process-major %call=mpiio:collective", "openmpi"): {"write.bandwidth": 100},
    (f"{SHARED} %layout=process-major %call=mpiio:independent", "openmpi"): {
        "write.bandwidth": 50
    },
    (f"{HINTS}-enable", "mpich"): {"write.seconds": 4, "read.seconds": 1},
    (f"{HINTS}-disable", "mpich"): {"write.seconds": 40, "read.seconds": 1.5},
    ("CgnsStructured %fs=ram %call=cgns:independent %scale=smoke", "openmpi"): {
        "write.seconds": 8, "write.phases.define.max": 2, "write.phases.write.max": 5,
    },
    (PAIO + " %send=zero-copy", "openmpi"): PAIO_NUMBERS,
    # With two, 0.25 s are seen: 400 MiB/s.
    (f"{SERVERS}1{REST}", "openmpi"): PAIO_NUMBERS,
    (f"{SERVERS}2{REST}", "openmpi"): {**PAIO_NUMBERS, "write.phases.drain.max": 1.75},
}  # fmt: skip
LEDGER = {"payload": 1000, "amplification": 1.5, "layers": {"bytes": 1500, "calls": 7}}


def _fill(document: dict[str, Any], places: Places) -> None:
    """Samples with the numbers at `places`, on an ext4 of a machine with 4 cores."""
    document["system"]["cores_per_node"] = 4
    document["system"]["filesystem"]["type"] = "ext4"
    document["samples"] = [copy.deepcopy(document["samples"][0]) for _ in range(REPEATS)]
    for repeat, sample in enumerate(document["samples"]):
        sample["repeat"] = repeat
        for place, value in places.items():
            *above, last = place.split(".")
            part = sample
            for key in above:
                part = part[key]
            assert last in part, f"the recorded document has no {place}"
            part[last] = value


def _fill_ledger(path: Path) -> None:
    ledger = json.loads(path.read_text())
    for side in ledger["sides"]:
        side.update({key: LEDGER[key] for key in ("payload", "amplification")})
        for layer in side["layers"]:
            if layer["name"] == "POSIX":
                layer.update(LEDGER["layers"], processes=2)
    path.write_text(json.dumps(ledger))


def _choose(report: dict[str, Any]) -> None:
    for run in report["runs"]:
        run["testcases"] = [
            c for c in run["testcases"] if (c["display_name"], c["environ"]) in NUMBERS
        ]
        for case in run["testcases"]:
            case["perfvalues"] = {}
    report["session_info"]["order_seed"] = 1


def _tables(folder: Path, *, jobs: bool) -> Path:
    """A folder with the report's tables as CSV. `jobs`: each repeat is a separate job."""
    session = Recorded(folder / "session", "session-all")
    for (name, stack), places in NUMBERS.items():
        session.edit_document(name, stack, partial(_fill, places=places))
        _fill_ledger(session.document(name, stack).with_name("ledger.json"))
    session.edit(_choose)
    if jobs:
        split(session)
    done = run_analysis(
        "report", session.report, "--html", folder / "page.html", "--tables", folder / "csv",
        "--store", folder / "store",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "csv"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _tables(tmp_path_factory.mktemp("all"), jobs=False)


@pytest.fixture(scope="module")
def tables_of_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _tables(tmp_path_factory.mktemp("jobs"), jobs=True)


@pytest.mark.parametrize("name", ["published", "ledger", "score_card"])
def test_golden_tables(tables: Path, name: str) -> None:
    _as_golden(tables, name)


def _run_as(session: Recorded, name: str, other: str, processes: int, file_bytes: int) -> None:
    """A recorded case under the name of another test and scale."""

    def change(document: dict[str, Any]) -> None:
        document["system"]["processes"] = processes
        document["file_bytes"] = file_bytes
        for sample in document["samples"]:
            sample["write"]["seconds"] = 2.0

    session.edit_document(name, "openmpi", change)
    scale = other.split("%scale=")[1].split()[0]
    entry = {"display_name": other, "scale": scale, "perfvalues": {}}
    session.edit_case(name, "openmpi", lambda case: case.update(entry))


def test_numbers_without_a_method_or_of_a_file_stand_beside_their_runs(tmp_path: Path) -> None:
    """The cloud model's document does not say with which calls it wrote. A file's size stands
    beside runs of the same size only."""
    session = Recorded(tmp_path / "session", "session-all")
    shared, paio = f"{SHARED} %layout=level-major %call=mpiio:collective", f"{PAIO} %send=zero-copy"
    _run_as(session, shared, shared.replace("smoke", "paper"), 2048, 54 * 2**30)
    cloud = paio.replace("Paio", "CloudModel").replace("smoke", "paper-gsfc")
    _run_as(session, paio, cloud, 256, 2**30)
    store = tmp_path / "store"
    assert run_analysis("store", "add", session.report, "--store", store).returncode == 0
    done = run_analysis("compare", "last", "published", "--json", "--store", store)
    rows = json.loads(done.stdout)
    (model,) = [row for row in rows if row["published"] == 1913]
    assert (model["ours"], model["ratio"], model["method"]) == (2, 1913 / 2, "ioserver")
    assert "method ioserver (not stated)" in model["unlike"]
    (size,) = [row for row in rows if row["quantity"] == "file_bytes"]
    assert (size["ours"], size["published"]) == (54 * 2**30, 54.9 * 2**30)
    assert size["ratio"] == pytest.approx(54 / 54.9)


def test_golden_claims(tables_of_jobs: Path) -> None:
    """Six jobs of each: a claim is decided by jobs."""
    _as_golden(tables_of_jobs, "claims")


def _as_golden(tables: Path, name: str) -> None:
    """The columns of the golden file, whose lines are in the table's order."""
    golden = list(csv.DictReader((DATA / f"golden_{name}.csv").open()))
    found = list(csv.DictReader((tables / f"{name}.csv").open()))
    assert len(golden) > 3
    assert [{key: _number(row[key]) for key in golden[0]} for row in found] == [
        {key: _number(value) for key, value in row.items()} for row in golden
    ]


def _number(text: str) -> object:
    """A number to four digits, or the text."""
    try:
        return float(f"{float(text):.4g}")
    except ValueError:
        return text


def test_all_patterns_load_and_are_in_the_order_of_the_registry(tmp_path: Path) -> None:
    session = load_session(Recorded(tmp_path, "session-all").report, strict=True)
    table = rows.make_table(session)
    order = [row.run.pattern for row in table.rows]
    assert list(dict.fromkeys(order)) == list(PATTERNS)
    assert sorted(order, key=PATTERNS.index) == order
    assert [row.run.test for row in table.skipped] == ["PaioServers"]
    assert table.all_verified()


def test_the_stretches_of_a_phase_are_quantities(tmp_path: Path) -> None:
    session = load_session(Recorded(tmp_path, "session-all").report)
    mesh = next(run for run in session.runs if run.pattern == "cgns-unstructured")
    values = mesh.samples[0].values
    document = json.loads((mesh.document or Path()).read_text())
    for direction in ("write", "read"):
        for stretch in document["samples"][0][direction]["stretches"]:
            name = f"{direction}_stretch_{stretch['name']}"
            assert values[name] == stretch["max"]
            assert values[f"{name}_bw"] == stretch["bandwidth"]


def test_every_page_and_table_of_all_patterns(tmp_path: Path) -> None:
    """As recorded, with nothing made round."""
    session = Recorded(tmp_path, "session-all")
    for options in (["summary", "--csv"], ["report", "--csv", "--store", tmp_path / "store"]):
        done = run_analysis(options[0], session.report, *options[1:])
        assert done.returncode == 0, done.stderr
        found = list(csv.DictReader(done.stdout.splitlines()))
        assert {row["pattern"] for row in found} == set(PATTERNS)
