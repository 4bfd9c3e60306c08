# SPDX-License-Identifier: BSD-3-Clause
"""The table of the documents' experiments: it is whole, its page is current, its scripts are as it
says, and some of them run."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from iogauge.analysis.judge import claims, references
from iogauge.analysis.judge.yaml_file import YamlFile
from iogauge.common import experiments
from iogauge.common.experiments import SMOKE, Experiment
from iogauge.common.paths import ROOT
from iogauge.measure import sites
from tests.docs import experiment_scripts
from tools.pages import __main__ as pages

ALL = experiments.experiments()
# The sources of published.yaml that are documents, and numbers of theirs that no run gives: what a
# machine has.
OF_MACHINES = {"idris-gpfs", "idris-array", "idris-io-node", "idris-power6-node"}
# What runs here also without being asked for; all of them: make documents-smoke.
QUICKEST = ("s3d-io-small", "paio-altix", "cgns-2005-read")
# One file system of a site is enough to compare its scripts with the table.
ONE_FS = {"babel": "workdir", "vargas": "workdir", "mira": "fs0", "cetus": "fs0"}


def named(name: str) -> Experiment:
    return next(one for one in ALL if one.id == name)


def test_the_table_is_as_its_schema_has_it() -> None:
    """Its rows share values by YAML's aliases, which a user's file may not have."""
    schema = json.loads((ROOT / "references" / "experiments.schema.json").read_text())
    jsonschema.validate(yaml.safe_load((ROOT / experiments.FILE).read_text()), schema)


def test_a_name_chooses_one_experiment_and_a_documents_name_all_of_it() -> None:
    """ReFrame's `-t` takes the beginning of a tag."""
    names = [one.id for one in ALL]
    for name in names:
        assert [other for other in names if other.startswith(name)] == [name]
    for one in ALL:
        assert one.id.startswith(f"{one.document}-")
    assert {one.document for one in ALL} == set(experiments.documents())


def test_what_it_points_to_is_there() -> None:
    groups = {number.id for number in references.published()}
    known = {claim.id for claim in claims.load()}
    for one in ALL:
        assert one.process_counts, one.id
        assert set(one.published) <= groups, one.id
        assert set(one.claims) <= known, one.id
        assert one.test in experiment_scripts.files(), one.id
        assert sites.find(one.site).is_file(), one.id


def test_every_printed_number_and_every_claim_has_its_experiment() -> None:
    titles = dict.fromkeys(experiments.documents(), "")
    file = YamlFile(
        ROOT / "references" / "published.yaml", ROOT / "references" / "published.schema.json"
    )
    printed = {group["id"] for group in file.data["numbers"] if group["source"] in titles}
    assert printed - {name for one in ALL for name in one.published} == OF_MACHINES
    claimed = {claim.id for claim in claims.load() if claim.source in titles}
    assert claimed == {name for one in ALL for name in one.claims}


def test_generated_pages_are_made_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that need no kernels."""
    monkeypatch.delitem(pages.PAGES, "reference/patterns-and-methods.md")
    assert pages.main(["--check"]) == 0
    right = (pages.DOCS / "documents.md").read_text()
    (tmp_path / "reference").mkdir()
    for name in pages.PAGES:
        shutil.copy(pages.DOCS / name, tmp_path / name)
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    old = tmp_path / "documents.md"
    old.write_text(right.replace("| `idris-2011-p35` |", "| `idris-2011-p53` |"))
    assert pages.main(["--check"]) == 1
    assert [pages.main([]), pages.main(["--check"])] == [0, 0]
    assert old.read_text() == right
    old.write_text(right.replace("<!-- end of claims -->", ""))
    assert pages.main(["--check"]) == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system", sorted(experiments.sites()))
def test_the_scripts_are_as_the_table_says(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system in ONE_FS:
        monkeypatch.setenv("IOGAUGE_FS", ONE_FS[system])
    wrong, scripts = experiment_scripts.site(system, tmp_path)
    assert wrong == []
    assert scripts > 0


@pytest.mark.slow
def test_every_script_of_a_pbs_would_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests at all scales, up to 16,384 processes: S3d by each call, others by two; for Slurm
    by each: test_slurm_scripts.py."""
    monkeypatch.setenv("IOGAUGE_NODES", "1024")
    some = f"^(?!.*call=)|^S3d%|{experiment_scripts.TWO_CALLS}"
    options = ("-S", "exclusive_access=yes", "-n", some)
    session = experiment_scripts.all_tests("pbs_lustre", tmp_path, *options)
    assert experiment_scripts.wrong_in(session, "pbs_lustre") == []
    scripts = [script.read_text() for script in session.scripts()]
    assert len(scripts) > 500 and any(" -np 16384 " in script for script in scripts)


@pytest.mark.slow
def test_a_script_that_is_otherwise_is_named(tmp_path: Path) -> None:
    """Each kind of what can be wrong, by a table that says something else than the tests do."""
    right = named("idris-2011-p46-levels")
    cases = experiment_scripts.run("babel", [right], tmp_path, "--dry-run", "-T", "smoke")
    assert list(experiment_scripts.problems(right, experiment_scripts.of(right, cases))) == []
    wrong: dict[str, dict[str, Any]] = {
        "processes [2048], the table has [4096]": {"processes": (4096,)},
        "its script has no '--size 2048 '": {"words": ("--size 2048 ",)},
        "no script of": {"at": {"scale": ("paper", "node")}},
        "a script too many of": {"choose": {**right.choose, "call": ("mpiio:collective",)}},
    }
    for said, change in wrong.items():
        other = dataclasses.replace(right, **change)
        found = list(experiment_scripts.problems(other, experiment_scripts.of(other, cases)))
        assert found and all(said in line for line in found), found
    assert list(experiment_scripts.problems(right, [])) == ["no test has its tag"]


def test_counts_of_processes_keep_their_shape_where_there_are_fewer() -> None:
    ior = named("idris-2011-p35")  # 256 to 32,768
    assert ior.points(2) == ["1x16384", "2x16384"]
    assert ior.points(1000) == [f"{2**n}x64" for n in range(2, 10)]
    assert ior.points(32768) == [str(n) for n in ior.process_counts]
    assert [experiments.scaled_down(4096, most) for most in (1, 3, 4095, 4096)] == [
        4096,
        2048,
        2,
        1,
    ]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=one.id, marks=getattr(
            pytest.mark, "slow" if one.id in QUICKEST else "documents"))
        for one in ALL
    ],
)  # fmt: skip
def test_it_runs_here_and_every_byte_is_right(one: Experiment, tmp_path: Path) -> None:
    """At a size of seconds. S3D-IO has a small run itself, which takes no longer."""
    scale = one.at["scale"][0] if one.at["scale"] == ("example",) else SMOKE
    options = ("-r", "--exec-policy=serial", "-S", "repeats=1", "-t", f"({SMOKE}|{scale})$")
    cases = experiment_scripts.of(one, experiment_scripts.run("local", [one], tmp_path, *options))
    wrong = [case["display_name"] for case in cases if case["result"] == "fail"]
    assert not wrong, {case["fail_reason"] for case in cases}
    passed = [case for case in cases if case["result"] == "pass"]
    assert passed, {case["skip_reason"] for case in cases}
