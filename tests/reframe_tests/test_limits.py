# SPDX-License-Identifier: BSD-3-Clause
"""What a job is reckoned with before it is submitted: time, memory, bytes, numbers of files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.measure.kernels import build_for_tests, lacking
from reframe_tests.machine.calls import BY_NAME
from reframe_tests.machine.duration import Move, expected_bandwidth, time_limit
from reframe_tests.machine.fits import PIECE, Fits
from reframe_tests.machine.placement import Shape, most_per_node
from tests.site_configs.test_sites import dry_run


def seconds(script: str) -> int:
    found = re.search(r"wall_clock_limit = (\d+):(\d+):(\d+)", script)
    assert found
    hours, minutes, rest = map(int, found.groups())
    return 3600 * hours + 60 * minutes + rest


def test_a_limit_grows_with_bytes_repeats_and_slowness() -> None:
    gib = Move(2**30)
    small = time_limit([gib], 100, 1)
    assert small % 60 == 0
    assert small >= 600 + 2 * 2**30 / 100e6
    assert time_limit([gib, gib], 100, 3) > time_limit([gib], 100, 3) > small
    assert time_limit([Move(2**30, slower=100)], 100, 1) >= 100 * 2**30 / 100e6
    assert time_limit([gib], 100, 2, more=1000) >= small + 2000
    # Cobalt: "give at least 5 min" for the boot alone.
    assert time_limit([gib], 100, 1, blocks=[64]) >= small + 300


def test_no_job_asks_for_more_time_than_its_partition_allows() -> None:
    large = Move(2**50)
    assert time_limit([large], 100, 1, max_time=3600) == 3600
    assert time_limit([large], 100, 1) == 24 * 3600


def test_the_sites_bandwidth_counts_more_than_the_scales() -> None:
    assert expected_bandwidth({}, 50) == 50
    assert expected_bandwidth({"expected_bandwidth": 7}, 50, 8) == 7
    assert expected_bandwidth({}, 50, 8) == 400
    assert expected_bandwidth({}, 50, 1000) == 1000
    assert expected_bandwidth({}, 2000, 1000) == 2000
    peak = {"published_peak": {"value": 20, "source": "x"}}
    assert expected_bandwidth(peak, 50) == 20
    assert expected_bandwidth({**peak, "expected_bandwidth": 30}, 50) == 30


@pytest.mark.slow
def test_the_slowest_run_of_the_document_ends_in_time(tmp_path: Path) -> None:
    """6784.7 s of writing and 315.2 s of reading, in each of three repeats."""
    only = ("-t", "paper", "-t", "workdir", "-n", "RamsesHints.*hint_set=cb-disable")
    (script,) = dry_run("babel", tmp_path, *only, tests="ramses.py").scripts()
    assert seconds(script.read_text()) > 3 * (6784.7 + 315.2)
    asked = ("-S", "RamsesHints.time_limit=7m")
    (script,) = dry_run("babel", tmp_path / "2", *only, *asked, tests="ramses.py").scripts()
    assert seconds(script.read_text()) == 420


def test_the_check_of_the_verification_waits_for_its_block_to_boot(tmp_path: Path) -> None:
    found = {}
    for system, name in {"babel": "IorProcesses.*fs=tmpdir", "vargas": "Ior%.*fs=tmpdir"}.items():
        only = ("-t", "smoke", "-n", f"{name}.*call=posix(%|$)")
        session = dry_run(system, tmp_path / system, *only, tests="ior.py")
        (script,) = session.output.glob("stage/*/*/*/*/Notices*/rfm_job.sh")
        found[system] = seconds(script.read_text())
    assert found["babel"] >= found["vargas"] + 300


@pytest.mark.slow
def test_the_cloud_models_writing_ends_in_time(tmp_path: Path) -> None:
    """1,913 s of writing on the SC45."""
    only = ("-t", "paio-cloud-model", "-t", "paper-gsfc", "-n", "CloudModel.*call=master")
    (script,) = dry_run("sc45", tmp_path, *only, tests="paio.py").scripts()
    hours, minutes, _ = re.findall(r"walltime=(\d+):(\d+):(\d+)", script.read_text())[0]
    assert 60 * int(hours) + int(minutes) > 3 * 1913 / 60


@pytest.mark.slow
def test_nothing_that_the_slides_ran_on_babel_is_skipped(tmp_path: Path) -> None:
    """Up to 393 GiB by 1024 processes of 512 MiB; IOR through their four libraries."""
    four = "call=(posix|mpiio:collective|mpiio:independent|hdf5:.*|pnetcdf:.*)"
    only = (
        "-t",
        "paper",
        "-t",
        "workdir",
        "-n",
        f"(RamsesSizes.*{four}%processes=1024|(RamsesHints|Ior%).*{four})(%|$)",
    )
    for more in ((), ("-S", "buffer=reused")):
        session = dry_run(
            "babel", tmp_path / str(len(more)), *only, *more, tests="ramses.py ior.py"
        )
        assert session.status == 0, session.text
        assert {case["result"] for case in session.cases} == {"pass"}


@pytest.mark.slow
@pytest.mark.parametrize("processes", [32, 256, 4096, 32768])
def test_ior_writes_256_gib_in_all_at_paper_scale(processes: int, tmp_path: Path) -> None:
    only = ("-t", "paper", "-t", "workdir", "-n", "Ior%.*call=mpiio:independent")
    more = ("-S", f"Ior.num_tasks={processes}")
    (script,) = dry_run("babel", tmp_path, *only, *more, tests="ior.py").scripts()
    found = re.search(r"ior -b (\d+) -t (\d+) -s (\d+)", script.read_text())
    assert found
    block, transfer, segments = map(int, found.groups())
    assert block * segments * processes == 256 * 2**30
    assert transfer == 2 * 2**20


@pytest.mark.slow
def test_what_does_not_divide_is_left_out(tmp_path: Path) -> None:
    only = ("-t", "paper", "-t", "workdir", "-n", "Ior%.*call=mpiio:independent")
    more = ("-S", "Ior.num_tasks=384")
    (script,) = dry_run("babel", tmp_path, *only, *more, tests="ior.py").scripts()
    found = re.search(r"ior -b (\d+) ", script.read_text())
    assert found
    assert int(found[1]) % 2**21 == 0
    assert 0 < 256 * 2**30 - 384 * int(found[1]) < 384 * 2**21


def test_one_file_for_each_process_up_to_the_documents_cores(tmp_path: Path) -> None:
    only = ("-t", "paper", "-t", "workdir", "-n", "FilePerProcess")
    found = {}
    for script in dry_run("babel", tmp_path, *only, tests="metadata.py").scripts():
        text = script.read_text()
        name = re.search(r"processes=(\d+)", text)
        asked = re.search(r" -np (\d+).*\n(?: *env .*\n)?.*metadata --files (\d+)", text)
        assert name
        assert asked
        found[int(name[1])] = (int(asked[1]), int(asked[2]))
    assert {1, 256, 16384, 32768} <= set(found)
    assert all(value == (n, 1) for n, value in found.items())


@pytest.mark.slow
@pytest.mark.parametrize("system", ["babel", "altix"])
def test_a_series_of_files_has_as_many_as_it_says(system: str, tmp_path: Path) -> None:
    session = dry_run(system, tmp_path, "-t", "posix", "-n", "Metadata", tests="metadata.py")
    assert session.status == 0, session.text
    asked = []
    for script in session.scripts():
        text = script.read_text()
        files = re.search(r"files=(\d+)", text)
        each = re.search(r" -np (\d+).*\n(?: *env .*\n)?.*metadata --files (\d+)", text)
        assert files
        assert each
        asked.append((int(files[1]), int(each[1]) * int(each[2])))
    assert {0} < {files for files, _ in asked} | {0}
    assert all(files == made for files, made in asked), asked


@pytest.mark.slow
def test_a_number_of_processes_that_does_not_divide_a_series_is_refused(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-t", "workdir", "-t", "posix", "-n", "Metadata.*files=10(?!0)")
    session = dry_run("babel", tmp_path, *only, "-S", "Metadata.num_tasks=4", tests="metadata.py")
    (case,) = session.cases
    assert "10 files do not divide over 4 processes" in case["skip_reason"]
    assert "Metadata.num_tasks=2" in case["skip_reason"]


def test_a_node_takes_as_many_processes_as_it_has_memory_for() -> None:
    shape = Shape(cores=16, memory=1024, per_node=(1, 2, 4, 8, 16))
    assert most_per_node(100 * 2**20, shape) == 8
    assert most_per_node(2000 * 2**20, shape) == 0
    assert most_per_node(100 * 2**20, Shape(cores=16, memory=1024)) == 10


def test_independent_calls_are_copied_unless_it_is_romio() -> None:
    assert BY_NAME["cgns:independent"].is_copied(["hdf5"])
    assert not BY_NAME["cgns:independent"].is_copied(["romio"])
    assert BY_NAME["pnetcdf:nonblocking"].is_copied(["romio"])


@pytest.mark.skipif(bool(lacking("mpich")), reason=str(lacking("mpich")))
@pytest.mark.parametrize("pattern", ["ramses-hydro --size 64", "cgns"])
def test_a_reused_buffer_is_as_large_as_it_is_reckoned(pattern: str, tmp_path: Path) -> None:
    """iokernel says in its document what its buffer really is: a page more for alignment."""
    # A level is cut in two along x, with a layer of ghosts on each side as far as there is one.
    finest = (32 // 2 + 2) * 32 * 32
    words, right = {
        "ramses-hydro --size 64": (pattern, 8 * finest),
        "cgns": ("cgns-unstructured --elements 20000", 10000 * 6 * 3 * 8),
    }[pattern]
    kernel = str(build_for_tests("mpich") / "iokernel")
    command = ["mpiexec.mpich", "-n", "2", kernel, *words.split(), "--buffer", "reused"]
    command += ["--method", "mpiio", "--mode", "collective", "--dir", str(tmp_path)]
    subprocess.run([*command, "--json", str(tmp_path / "x.json")], check=True, capture_output=True)
    memory = json.loads((tmp_path / "x.json").read_text())["memory"]
    assert right <= memory["buffer"] <= right + 8192


@pytest.mark.parametrize(
    ("asked", "scale", "packs", "must_be_whole", "reused"),
    [
        ("", "", False, False, False),
        ("", "", True, False, True),
        ("", "", True, True, False),
        ("", "reused", False, False, True),
        ("", "reused", False, True, False),
        ("whole", "reused", True, False, False),
        ("reused", "", False, False, True),
    ],
)
def test_memory_is_that_of_the_buffer_in_use(
    asked: str, scale: str, packs: bool, must_be_whole: bool, reused: bool
) -> None:
    """The user's, else the scale's where it is possible, else iokernel's default."""
    run: Any = SimpleNamespace(
        buffer=asked,
        the_scale=SimpleNamespace(buffer=scale),
        packs=packs,
        buffer_must_be_whole=lambda: must_be_whole,
        chosen_buffer=lambda: Fits.chosen_buffer(run),
        reuses_buffer=lambda: Fits.reuses_buffer(run),
        share_of_a_dump=lambda: 10**9,
        call_bytes=lambda: 10**6,
        drop_caches=False,
        ceilings=False,
    )
    assert Fits.held_bytes(run) == (PIECE if reused else 10**9)
