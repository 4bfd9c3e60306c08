# SPDX-License-Identifier: BSD-3-Clause
"""Darshan logs of others: those in PyDarshan's wheel, and of a folder (`make test-logs LOGS=DIR`).
Every file, byte and access is counted as PyDarshan counts it, and each command answers or says in
one line why not. A log that PyDarshan cannot read is skipped, with its reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.darshan.dxt import DXT
from iogauge.analysis.darshan.library import COUNTED
from iogauge.analysis.darshan.log import read_log
from iogauge.analysis.errors import EXIT_DATA, EXIT_NO_ORDER, EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.cli.main import main

ENDS = (".darshan", ".darshan_partial")
BY_DARSHAN = """\
import darshan, json, sys
counted, single = (words.split(",") for words in sys.argv[2:])
report = darshan.DarshanReport(sys.argv[1], read_all=False)
found = {"processes": int(report.metadata["job"]["nprocs"]), "files": {}, "accesses": []}
if not 0 < found["processes"] < 2**31:
    sys.exit("nonsense: written by no release of Darshan")
for module in [one for one in report.modules if one in counted]:
    report.mod_read_all_records(module)
    if not len(report.records[module]):
        continue
    table = report.records[module].to_df()["counters"]
    sides = [[name for name in table.columns if name.endswith("_BYTES_" + way)]
             for way in ("READ", "WRITTEN")]
    files = {}
    for row in table.to_dict("records"):
        one = files.setdefault(row["id"], [report.name_records[row["id"]], 0, 0])
        for place, names in enumerate(sides, 1):
            # Below 0: the log's version lacks it.
            one[place] += sum(max(0, int(row[name])) for name in names)
    found["files"][module] = list(files.values())
for module in [one for one in report.modules if one in single]:
    report.mod_read_all_dxt_records(module)
    for record in report.records[module]:
        for way in ("read", "write"):
            some = record[way + "_segments"]
            found["accesses"].append([module, report.name_records[record["id"]], record["rank"],
                                      way, len(some), sum(int(one["length"]) for one in some)])
print(json.dumps(found))
"""


def _logs(folder: Path, name: str = "") -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: expected a folder of Darshan logs")
    for log in sorted(folder.rglob("*")):
        if log.name.endswith(ENDS) and log.is_file():
            yield f"{name}{log.relative_to(folder)}", log


SPEC = find_spec("darshan")
assert SPEC and SPEC.origin  # a requirement of the analysis
LOGS = dict(_logs(Path(SPEC.origin).parent, "PyDarshan/"))
if MORE := os.environ.get("IOGAUGE_LOGS"):
    LOGS |= _logs(Path(MORE))
each_log = pytest.mark.parametrize("name", LOGS)
few = pytest.mark.sampled(3)


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    """What PyDarshan says of each log that was asked for; a text: why it does not read it."""
    return {}


def by_darshan(name: str, known: dict[str, Any]) -> Any:
    """In a separate process, as it may crash."""
    if name not in known:
        modules = (",".join(COUNTED), ",".join(DXT))
        words = [sys.executable, "-W", "ignore", "-c", BY_DARSHAN, str(LOGS[name]), *modules]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        why = f"PyDarshan: {(done.stderr.strip().splitlines() or [str(done.returncode)])[-1]}"
        known[name] = why if done.returncode else json.loads(done.stdout)
    if isinstance(known[name], str):
        pytest.skip(known[name])
    return known[name]


@few
@each_log
def test_each_file_has_pydarshans_bytes(name: str, theirs: dict[str, Any]) -> None:
    judge, log = by_darshan(name, theirs), read_log(LOGS[name], segments=True)
    assert log.processes == judge["processes"]
    found: dict[str, list[list[Any]]] = {}
    for one in log.files:
        row = [one.path, one.count("BYTES_READ"), one.count("BYTES_WRITTEN")]
        found.setdefault(one.module, []).append(row)
    expected = {module: files for module, files in judge["files"].items() if files}
    assert {key: sorted(of) for key, of in found.items()} == {
        key: sorted(of) for key, of in expected.items()
    }
    calls: Counter[tuple[Any, ...]] = Counter()
    moved: Counter[tuple[Any, ...]] = Counter()
    for some in log.segments:
        for way, rows in (("read", some.reads), ("write", some.writes)):
            calls[some.module, some.path, some.rank, way] += len(rows)
            moved[some.module, some.path, some.rank, way] += sum(row[1] for row in rows)
    for module, path, rank, way, count, length in judge["accesses"]:
        calls[DXT[module], path, rank, way] -= count
        moved[DXT[module], path, rank, way] -= length
    assert not any(calls.values()) and not any(moved.values())


@few
@each_log
def test_trace_shows_pydarshans_sums(
    name: str, theirs: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    judge = by_darshan(name, theirs)
    assert main(["trace", "--json", str(LOGS[name])]) == EXIT_OK
    answer = json.loads(capsys.readouterr().out)
    assert answer["processes"] == judge["processes"]
    expected = {
        module: [len({path for path, *_ in files}), *map(sum, list(zip(*files, strict=True))[1:])]
        for module, files in judge["files"].items()
        if files
    }
    shown = ("files", "read", "written")
    assert {one["name"]: [one[way] for way in shown] for one in answer["layers"]} == expected


@few
@pytest.mark.parametrize("command", ["trace --csv --calls", "blame --json", "replay plan -o s"])
@each_log
def test_a_command_answers_or_says_why_not(
    name: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    status = main([*command.split(), str(LOGS[name])])
    said = capsys.readouterr()
    races = (EXIT_NOT_VERIFIED, EXIT_NO_ORDER) if command.startswith("blame") else ()
    assert status in (EXIT_OK, EXIT_DATA, *races), said.err
    if status == EXIT_DATA:
        assert not said.out and said.err.startswith(f"iogauge: {LOGS[name]}: "), said.err
        assert said.err.count("\n") == 1, said.err
        assert "; " in said.err, f"no remedy: {said.err}"
    elif command.startswith("replay"):
        assert (tmp_path / "s").stat().st_size
