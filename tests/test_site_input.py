# SPDX-License-Identifier: BSD-3-Clause
"""Wrong words in a site file or on the command line are named with file and key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reframe_tests.machine.filesystems import published_peak, published_shares
from site_configs import check
from tests.reframe_session import LOCAL, ROOT, Session, changed_site, reframe

ONE = ("-t", "smoke", "-n", "S3d.*call=posix%")


def listed(output: Path, config: Path = LOCAL, **settings: str) -> Session:
    environment = {**os.environ, **settings}
    return reframe(
        output, "--system", "local", "-l", *ONE, config=config, tests="s3d.py",
        environment=environment,
    )  # fmt: skip


@pytest.mark.parametrize("site", ["local", "docker"])
def test_a_site_without_a_batch_system_is_checked_too(site: str, tmp_path: Path) -> None:
    text = (ROOT / "site_configs" / f"{site}.py").read_text()
    text = text.replace("Path(__file__).resolve().parents[1]", f"Path({str(ROOT)!r})")
    path = tmp_path / f"{site}.py"
    path.write_text(text.replace('"nodes": 1', '"nodse": 1'))
    session = reframe(tmp_path / "out", "--system", site, "-l", config=path, tests="s3d.py")
    assert session.status == 1
    assert f"{path}: {site}:" in session.text
    assert "extras: 'nodse' is unknown; did you mean 'nodes'?" in session.text


def site_of(**partition: object) -> dict[str, Any]:
    batch = {
        "name": "batch",
        "scheduler": "pbs.j2",
        "launcher": "stack",
        "environs": ["mpich"],
        "extras": {"filesystems": {"disk": {"path": "/disk", "type": "ext4"}}},
    } | partition
    batch = {key: value for key, value in batch.items() if value is not None}
    return {
        "systems": [{"name": "dawn", "partitions": [batch]}],
        "environments": [{"name": "mpich"}],
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"launcher": "stakc"}, ["dawn:batch.launcher: 'stakc' is unknown; did you mean 'stack'?"]),
        ({"scheduler": "pbs.j3"}, ["dawn:batch.scheduler: 'pbs.j3' is unknown; did you mean "]),
        ({"environs": None, "envirosn": []}, ["dawn:batch.environs: missing; there are name, "]),
        (
            {"extras": None, "extrsa": {}},
            ["dawn:batch.extras: missing; there are name, ", "dawn:batch.extras.filesystems: "],
        ),
        ({}, []),
    ],
)
def test_a_partition_is_checked(wrong: dict[str, object], said: list[str]) -> None:
    found = list(check.problems(site_of(**wrong)))
    assert len(found) == len(said)
    for problem, beginning in zip(found, said, strict=True):
        assert problem.startswith(beginning)


def test_the_launchers_that_are_checked_are_those_that_there_are() -> None:
    """ReFrame has no public list of its own; it finds each by its name, and loads them for that."""
    from reframe.core import backends

    import reframe_tests.jobs.launchers  # noqa: F401 (registers ours)

    for name in (*check.LAUNCHERS, *check.STOCK_LAUNCHERS):
        backends.getlauncher(name)
    assert set(backends._launchers) == {*check.LAUNCHERS, *check.STOCK_LAUNCHERS}


def test_a_file_system_of_another_name_is_refused(tmp_path: Path) -> None:
    session = listed(tmp_path, IOGAUGE_FS="rma")
    assert session.status == 1
    known = "IOGAUGE_FS: file system 'rma' is unknown; did you mean 'ram'?"
    assert f"error: {known} (`filesystems` in {LOCAL})" in session.text


def test_the_file_systems_that_were_chosen_are_the_axis(tmp_path: Path) -> None:
    assert {name.split("%fs=")[1].split()[0] for name in listed(tmp_path).listed} == {"ram", "disk"}
    chosen = listed(tmp_path, IOGAUGE_FS="ram").listed
    assert {name.split("%fs=")[1].split()[0] for name in chosen} == {"ram"}


@pytest.mark.parametrize(
    "peak",
    [36000, {"value": 36000}, {"value": "36 GB/s", "source": "x"}, {"value": 36000, "source": ""}],
)
def test_a_published_peak_needs_a_number_and_a_source(peak: object) -> None:
    (problem,) = check.of_entry("edison:batch.filesystems.scratch1", {"published_peak": peak})
    assert problem.startswith("edison:batch.filesystems.scratch1.published_peak: ")
    assert "'source': where it was published" in problem


def test_shares_of_a_published_peak_are_of_equal_units() -> None:
    """MiB/s of a run, MB/s of a publication."""
    entry = {"published_peak": {"value": 2000, "source": "a page"}}
    assert published_peak(entry) == "2000 MB/s (a page)"
    shares = published_shares(entry, {"write_bw": 1000.0, "read_bw": None})
    assert shares == {"write_fraction_published": pytest.approx(0.524288)}
    assert published_shares({}, {"write_bw": 1000.0, "read_bw": 1.0}) == {}
    assert published_peak({}) == ""


def test_a_published_peak_stands_beside_the_results(tmp_path: Path) -> None:
    config = changed_site(
        tmp_path,
        "partition['extras']['filesystems']['ram'] |= "
        "{'published_peak': {'value': 5000, 'source': 'its maker'}}",
    )
    only = (*ONE, "-t", "ram", "-p", "mpich", "-S", "repeats=1")
    session = reframe(tmp_path, "-r", "--system", "local", *only, config=config, tests="s3d.py")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["published_peak"] == "5000 MB/s (its maker)"
    values = {key.split(":")[-1]: value[0] for key, value in case["perfvalues"].items()}
    share = values["write_bw"] * 1.048576 / 5000
    assert values["write_fraction_published"] == pytest.approx(share)
    script = (Path(case["outputdir"]) / "rfm_job.sh").read_text()
    assert "#                published peak: 5000 MB/s (its maker)\n" in script
    done = subprocess.run(
        [sys.executable, "-m", "analysis", "summary", "--output", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "published peak of ram: 5000 MB/s (its maker)" in done.stdout, done.stderr


def test_make_always_names_the_system() -> None:
    """Without it ReFrame guesses by the host's name, and falls back to `generic`."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    calls = [line for line in lines if " -c reframe_tests" in line]
    assert calls
    assert all(" --system " in line for line in calls)
