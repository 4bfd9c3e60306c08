# SPDX-License-Identifier: BSD-3-Clause
"""Tests whose name stands for hints: what their job scripts ask for on every site, and what comes
of a run in which something else was in use."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reframe_tests.framework import labels
from reframe_tests.machine.filesystems import hints_for
from tests.reframe_session import ROOT, Session, reframe
from tests.site_configs.test_sites import (
    SITES,
    assert_scripts_ask_for_what_is_reported,
    dry_run,
)

# The slides' tables (buffering, sieving), for writing and for reading alike.
SLIDES = {
    "cb-enable": ("enable", "automatic"),
    "cb-disable": ("disable", "automatic"),
    "cb-automatic": ("automatic", "automatic"),
    "cb-enable-ds-enable": ("enable", "enable"),
    "cb-enable-ds-disable": ("enable", "disable"),
}
COLL = "hdf5_coll_metadata"
needs_mpich = pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="make setup")


def hints_of(script: str) -> dict[str, str]:
    """As iokernel would be given them: of two equal keys, the last."""
    return dict(re.findall(r"^    --hint '?([^=\n]+)=([^'\n]*)'?$", script, re.MULTILINE))


def labelled(session: Session) -> list[tuple[str, dict[str, str]]]:
    assert session.status == 0, session.text
    texts = [script.read_text() for script in session.scripts()]
    names = [re.search(r"^# ((?:RamsesHints|CgnsMetadata).*)$", text, re.M) for text in texts]
    return [(name[1], hints_of(text)) for name, text in zip(names, texts, strict=True) if name]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system", SITES)
def test_each_label_stands_as_labelled_on_every_site(
    system: str, site_dry_run: Callable[[str], Session]
) -> None:
    found = labelled(site_dry_run(system))
    has_romio = system not in ("vargas", "slurm_lustre", "sc45", "thunderhead")
    assert any(name.startswith("RamsesHints") for name, _ in found) == has_romio
    for name, hints in found:
        if name.startswith("RamsesHints"):
            buffering, sieving = SLIDES[name.split("hint_set=")[1].split()[0]]
            for way in ("write", "read"):
                assert hints[f"romio_cb_{way}"] == buffering, name
                assert hints[f"romio_ds_{way}"] == sieving, name
        else:
            wanted = "false" if "metadata=off" in name else None
            assert hints.get(COLL) == wanted, name


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system", SITES)
def test_a_report_has_what_recorded_ones_have(
    system: str, site_dry_run: Callable[[str], Session]
) -> None:
    """The store, pages and findings read variables of a test there."""
    recorded: dict[str, set[str]] = {}
    for path in (ROOT / "tests" / "data").glob("session*/results/reports/*.json"):
        for run in json.loads(path.read_text())["runs"]:
            for case in run["testcases"]:
                recorded.setdefault(case["name"].split()[0], set()).update(case)
    session = site_dry_run(system)
    found = {case["name"].split()[0]: set(case) for case in session.cases}
    assert found.keys() >= {"S3d", "Ior"}
    lost = {name: recorded[name] - found[name] for name in found if name in recorded}
    assert not any(lost.values()), lost
    assert_scripts_ask_for_what_is_reported(session)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["faust", "mira", "edison"])
def test_cgns_is_rendered_on_the_documents_machines(
    system: str, site_dry_run: Callable[[str], Session]
) -> None:
    names = [name for name, _ in labelled(site_dry_run(system))]
    assert any(name.startswith("CgnsMetadata") and "call=cgns" in name for name in names)


@pytest.mark.slow
def test_a_users_hint_against_the_name_is_refused(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-t", "scratch1", "-n", "RamsesHints.*hint_set=cb-disable")
    wrong = ("-S", "RamsesHints.hints=romio_cb_write=enable")
    session = dry_run("edison", tmp_path, *only, *wrong, tests="ramses.py")
    (case,) = session.cases
    assert "romio_cb_write=enable contradicts the test's name" in case["skip_reason"]
    assert "romio_cb_write=disable" in case["skip_reason"]
    other = ("-S", "RamsesHints.hints=cb_nodes=4")
    (script,) = dry_run("edison", tmp_path / "2", *only, *other, tests="ramses.py").scripts()
    assert hints_of(script.read_text())["cb_nodes"] == "4"


def test_the_order_is_site_test_user() -> None:
    site, test, user = {"a": "s", "b": "s", "c": "s"}, {"b": "t", "c": "t", "d": None}, {"c": "u"}
    assert labels.merged({**site, "d": "s"}, test, user) == {"a": "s", "b": "t", "c": "u"}


@pytest.mark.parametrize(
    ("used", "wrong", "silent"),
    [
        ({"romio_cb_write": "disable"}, False, False),
        ({"romio_cb_write": "enable"}, True, False),
        ({}, False, True),
    ],
)
def test_what_was_in_use_counts(used: dict[str, str], wrong: bool, silent: bool) -> None:
    found = labels.hints_in_use(used, {"romio_cb_write": "disable", "cb_nodes": None})
    assert (bool(found[0]), bool(found[1])) == (wrong, silent)
    if not wrong:
        said = labels.verdict(found[1])
        assert ("not reported" in said and "romio_cb_write" in said) == silent


def test_hdf5_tells_of_its_metadata_in_two_parts() -> None:
    half = {f"{COLL}_read": "true", f"{COLL}_write": "false"}
    (problem,), _ = labels.hints_in_use(half, {COLL: "true"})
    assert problem.startswith(f"hint {COLL} is 'false' in use")


@pytest.mark.parametrize(
    ("found", "asked", "wrong", "silent"),
    [
        ({"count": 4, "size": 2**20}, (4, "1M"), 0, 0),
        ({"count": 8, "size": 2**20}, (64, "1M"), 1, 0),
        ({"count": 8, "size": 2**20}, (-1, "1M"), 0, 0),
        ({"count": 8, "size": 2**16}, (8, "1M"), 1, 0),
        ({"count": None, "size": 2**20}, (8, "1M"), 0, 1),
        (None, (8, "1M"), 0, 2),
    ],
)
def test_stripes_that_could_not_be_had_are_no_stripes(
    found: dict[str, int | None] | None, asked: tuple[int, str], wrong: int, silent: int
) -> None:
    answer = labels.stripes_in_use(found, *asked)
    assert (len(answer[0]), len(answer[1])) == (wrong, silent)


@pytest.mark.slow
def test_a_sites_hints_are_for_whom_the_document_had_them(tmp_path: Path) -> None:
    """IDRIS 2011: on Power6 none for HDF5; on Blue Gene no buffering of reads of hydro files."""
    only = ("-t", "smoke", "-t", "workdir", "-n", "RamsesShared.*layout=level-major")

    def asked(system: str) -> dict[tuple[str, str], dict[str, str]]:
        session = dry_run(system, tmp_path / system, *only, tests="ramses.py")
        texts = [script.read_text() for script in session.scripts()]
        parts = [re.search(r"contents=(\w+) .*call=(\S+)", text) for text in texts]
        return {(p[1], p[2]): hints_of(t) for p, t in zip(parts, texts, strict=True) if p}

    power6, bluegene = asked("vargas"), asked("babel")
    assert {"posix", "mpiio:collective", "hdf5:collective"} & {call for _, call in power6}
    for (_, call), hints in power6.items():
        given = {"write:IBM_largeblock_io": "true", "read:IBM_sparse_access": "true"}
        assert hints == ({} if "hdf5" in call else given), call
    for (contents, call), hints in bluegene.items():
        hydro = {"romio_cb_read": "disable"} if contents == "hydro" else {}
        assert hints == {"romio_ds_read": "disable", **hydro}, call


def test_rules_of_a_sites_hints() -> None:
    rules = [
        {"with": ["hdf5"], "hints": {"h": "1"}},
        {"without": ["hdf5"], "patterns": ["s3d"], "hints": {"a": "2"}},
    ]
    entry = {"hints": {"a": "1"}, "hints_where": rules}
    assert hints_for(entry, "s3d", ["hdf5", "cgns"]) == {"a": "1", "h": "1"}
    assert hints_for(entry, "s3d", []) == {"a": "2"}
    assert hints_for(entry, "ior", []) == {"a": "1"}
    assert hints_for({}, "ior", []) == {}


def test_s3d_has_the_hints_that_s3d_io_sets(tmp_path: Path) -> None:
    """set_io_hints in S3D-IO's io_profiling_m.f90; its methods are two of PnetCDF's."""
    only = ("-t", "smoke", "-n", "S3d ")
    for script in dry_run("mira", tmp_path, *only).scripts():
        text = script.read_text()
        upstream = "--mode collective" in text or "--mode nonblocking" in text
        upstream = upstream and "--method pnetcdf" in text
        hints = hints_of(text)
        assert (hints.get("romio_no_indep_rw") == "true") == upstream
        assert (hints.get("romio_ds_write"), hints.get("romio_ds_read")) == (
            ("disable", "disable") if upstream else (None, None)
        )


@pytest.mark.slow
@needs_mpich
def test_a_label_is_checked_in_a_real_run(tmp_path: Path) -> None:
    """A library that takes hints from elsewhere too: here it says what the name says."""
    only = (
        "-t",
        "smoke",
        "-t",
        "ram",
        "-n",
        "RamsesHints.*hint_set=cb-disable",
        "-S",
        "repeats=1",
    )
    session = reframe(tmp_path, "-r", "--system", "local", *only, tests="ramses.py")
    assert session.status == 0, session.text
    assert {case["label_check"] for case in session.cases} == {"as labelled"}
