# SPDX-License-Identifier: BSD-3-Clause
"""Two speeds and a ratio in one row agree, however noisy the jobs: in words, pages and tables."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.judge import advice, bottleneck, findings
from iogauge.analysis.judge.samples import Job
from iogauge.analysis.pages import why_text
from iogauge.analysis.session.peaks import Peaks, SessionPeak
from iogauge.analysis.store.ingest import ingest
from tests import analysis_made as made
from tests.analysis_recorded import Recorded, documents, run_analysis, s3d
from tests.simulate import rates
from tests.simulate.noise import KINDS

CALLS = ("mpiio:collective", "posix", "posix-shared")
STACKS = ("openmpi", "mpich")
NUMBER = r"\d+(?:\.\d+)?"


def around(text: str) -> tuple[float, float]:
    """What may have been rounded to it."""
    whole, _, decimals = text.partition(".")
    zeros = 0 if decimals or "." in text else len(whole) - len(whole.rstrip("0"))
    half = 0.5 * 10.0 ** (zeros - len(decimals))
    return float(text) - half, float(text) + half


def agree(base: str, new: str, ratio: str) -> bool:
    (low, high), (least, most), (first, last) = map(around, (base, new, ratio))
    return least / high <= last and most / max(low, 1e-9) >= first


def exact(rows: Iterable[Mapping[str, Any]], *names: str) -> int:
    """How many rows have the three numbers, which agree."""
    found = [[row[name] for name in names] for row in rows]
    found = [of for of in found if None not in of and "" not in of]
    for base, new, ratio in (map(float, of) for of in found):
        assert new / base == pytest.approx(ratio)
    return len(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("jobs", [1, 7])
def test_what_is_printed_agrees(tmp_path: Path, jobs: int, seed: int) -> None:
    """Jobs of one case differ by a factor of ten."""
    generator = rates.seeded("row", jobs, seed)
    values = {
        (s3d(call), stack): generator.lognormal(5, 1.2, jobs).tolist()
        for call in CALLS for stack in STACKS
    }  # fmt: skip
    report = made.split(made.session(tmp_path / "s", values)).report
    store = tmp_path / "store"
    ingest(report, store)

    def run(*words: object, data: bool = True) -> str:
        return run_analysis(*words, *(["--store", store] if data else [])).stdout

    page = tmp_path / "p.html"
    for by, a, b in (("stack", *STACKS), ("method", *CALLS[:2])):
        words = ("compare", a, b, "--by", by, "--all")
        assert exact(json.loads(run(*words, "--json")), "a", "b", "ratio")
        assert exact(csv.DictReader(io.StringIO(run(*words, "--csv"))), "a", "b", "ratio")
        run(*words, "--html", page)
        said = re.findall(
            rf": ({NUMBER}) \u2192 ({NUMBER}) MiB/s, ({NUMBER}) times",
            html.unescape(page.read_text()),
        )
        assert said and all(agree(*of) for of in said), said
    words = ("advise", "--pattern", "s3d", "--system", "local", "--json")
    assert exact(json.loads(run(*words)), "default_mib_s", "mib_s", "over_default")
    assert exact(json.loads(run("compare", "last", "peak", "--json")),
                 "peak", "value", "efficiency")  # fmt: skip
    row = next(x for x in run("summary", report, data=False).splitlines() if x.startswith("s3d"))
    default, fastest, *_ = row.split()[1:]
    assert float(default) <= float(fastest)
    if gain := re.search(rf"({NUMBER})x", row):
        assert agree(default, fastest, gain[1])


def test_commands_agree_about_files_a_second(tmp_path: Path) -> None:
    """`advise` names the calls, numbers and unit that `summary` names."""
    report, store = Recorded(tmp_path, "session-all").report, tmp_path / "store"
    ingest(report, store)
    said = [one for one in json.loads(run_analysis("summary", report, "--json").stdout)["fastest"]
            if one["pattern"] == "metadata"]  # fmt: skip
    words = ("advise", "--pattern", "metadata", "--system", "local", "--store", store)
    rows = [row for row in json.loads(run_analysis(*words, "--json").stdout) if row["rank"] == 1]
    found = {(row["fs"], row["stack"], row["files_s"]) for row in rows}
    assert found and found == {(one["file_system"], one["stack"], one["value"]) for one in said}
    text = run_analysis(*words).stdout
    assert {one["unit"] for one in said} == {"files/s"}
    assert " files/s; a repeat took " in text and "MiB/s" not in text
    assert "MiB/s" not in run_analysis(*words, "--for", "read").stdout


@pytest.mark.parametrize("direction", ["write", "read"])
def test_files_a_second_have_no_share_of_a_bandwidth(direction: Any) -> None:
    """And neither has what moved nothing."""
    known: Peaks = {("fpp", direction): SessionPeak(1000.0, "peak test", 3, 1.0, 0.0)}
    units = set()
    for path in documents():
        data = json.loads(path.read_text())
        files = any(sample.get("series") for sample in data["samples"])
        for one in bottleneck.facts(data, None, known):
            said = why_text.heading(one).partition(";")[0]
            assert (" files/s" in said, " MiB/s" in said) == (files, not files)
            assert not (files and "of the peak" in said)
            units.add((files, "of the peak" in said))
        data["asked"]["method"] = "null"
        assert not any(one.ceilings for one in bottleneck.facts(data, None, known))
    assert {(True, False), (False, True)} <= units


@pytest.mark.parametrize("noise", KINDS)
def test_the_fastest_is_not_slower_than_its_default(noise: str) -> None:
    """And its speed over the default's is the gain, in whatever noise."""
    generator = rates.seeded("row", noise)
    for _ in range(100):
        speeds = KINDS[noise](generator, (6, 7))
        group = [
            {"call": call, "method": call.partition(":")[0], "stack": stack, "variant": "",
             "hints": "", "found": {Job(1, n, n, True): v for n, v in enumerate(of.tolist())}}
            for (call, stack), of in zip(((c, s) for c in CALLS for s in STACKS), speeds,
                                         strict=True)
        ]  # fmt: skip
        place = findings.place("s3d", "disk", "MiB/s", group, advice.DEFAULT)
        base, best = place.speeds
        assert base <= best
        assert place.gain is None or best / base == pytest.approx(place.gain.value)
