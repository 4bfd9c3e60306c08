# SPDX-License-Identifier: BSD-3-Clause
"""What ReFrame finds, lists, stages and skips; nothing is built or measured here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from site_configs.support import common
from tests.reframe_session import ROOT, changed_site, reframe

# The suite of `make run`, as the project's first issue lists it.
QUICK_CALLS = (
    *("null", "posix", "posix-shared", "master"),
    *("mpiio:collective", "mpiio:independent"),
    *("hdf5:collective", "hdf5:independent"),
    *("pnetcdf:collective", "pnetcdf:nonblocking"),
)

COLLECTIVE = "S3d.*call=mpiio:collective"


def test_the_quick_suite_is_patterns_times_methods_times_file_systems(tmp_path: Path) -> None:
    session = reframe(tmp_path, "-l", "-t", "quick")
    assert "skipping test file" not in session.text  # it would only be a warning
    listed = session.listed
    wanted = {
        f"{test} %fs={fs} %call={call} %scale=laptop"
        for test, fs, call in product(("S3d", "Ior"), ("ram", "disk"), QUICK_CALLS)
    }
    others = ("Peak", "Ramses", "Metadata", "Cgns", "Paio")
    assert {name for name in listed if not name.startswith(others)} == wanted
    assert {name for name in listed if name.startswith("Metadata")} == {
        f"Metadata %fs={fs} %call=posix %scale=laptop %files=1000" for fs in ("ram", "disk")
    }
    assert {name for name in listed if name.startswith("Cgns")} == {
        f"Cgns{kind} %fs={fs} %call=cgns:{mode} %scale=laptop"
        for fs in ("ram", "disk")
        for kind, mode in (("Structured", "independent"), ("Unstructured", "collective"))
    }
    assert {name for name in listed if name.startswith("Paio")} == {
        f"Paio %fs={fs} %scale=laptop %call=ioserver:posix %io_processes=1 %queue=above"
        " %send=zero-copy"
        for fs in ("ram", "disk")
    }
    assert {name for name in listed if name.startswith("Ramses")} == {
        f"Ramses{kind} %fs={fs} %contents=hydro %scale=laptop {rest}"
        for fs in ("ram", "disk")
        for kind, rest in (
            ("OwnFiles", "%call=posix"),
            ("Shared", "%layout=level-major %call=mpiio:collective"),
        )
    }
    peaks = [name for name in listed if name.startswith("Peak")]
    usual = max(n for n in (1, 2, 4) if n <= common.cores())
    for fs in ("ram", "disk"):
        start, end = f"Peak %fs={fs} %call=posix ", f" %processes={usual} %flush=fsync"
        assert len([n for n in peaks if n.startswith(start) and n.endswith(end)]) == 1
    assert len(peaks) == 2


def test_a_peak_test_is_the_best_of_five_or_more(tmp_path: Path) -> None:
    """Also where `iogauge run` asks for one repeat."""
    for asked, repeats in ((1, 5), (9, 9)):
        words = ("--describe", "-n", "Peak.*fs=ram.*call=posix%", "-S", f"repeats={asked}")
        text = reframe(tmp_path, *words, tests="peak.py").text
        assert set(re.findall(r'"repeats": (\d+)', text)) == {str(repeats)}


def test_the_modes_suite_has_every_call(tmp_path: Path) -> None:
    listed = reframe(tmp_path, "-l", "-t", "modes", "-t", "ram", tests="s3d.py").listed
    calls = {re.search(r"%call=(\S+)", name)[1] for name in listed}  # type: ignore[index]
    others = (
        "twophase",
        "mpiio:nonblocking",
        "mpiio:ordered",
        "mpiio:external32",
        "pnetcdf:independent",
        "hdf5:chunked",
        "netcdf4:collective",
        "netcdf4:independent",
        "hdf5:filtered",
    )
    served = (f"ioserver:{inner}" for inner in ("posix", "mpiio", "hdf5", "pnetcdf"))
    assert calls == {*QUICK_CALLS, *others, *served}


def test_listing_leaves_no_session_folders(tmp_path: Path) -> None:
    reframe(tmp_path, "-l", tests="s3d.py")
    assert [path.name for path in tmp_path.iterdir()] == ["reframe.log"]


@pytest.mark.slow
def test_a_dry_run_stages_scripts_that_bash_accepts(tmp_path: Path) -> None:
    session = reframe(tmp_path, "--dry-run", "-t", "quick", "-n", COLLECTIVE, tests="s3d.py")
    assert session.status == 0, session.text
    for stack, other in (("openmpi", "mpich"), ("mpich", "openmpi")):
        scripts = session.scripts(stack)
        assert len(scripts) == 2  # a file system each
        for script in scripts:
            subprocess.run(["bash", "-n", script], check=True)
            text = script.read_text()
            assert f"\nmpiexec.{stack} -n " in text
            assert other not in text
            assert "--method mpiio --mode collective" in text


@pytest.mark.slow
def test_a_dry_run_of_every_call_passes_without_a_warning(tmp_path: Path) -> None:
    session = reframe(tmp_path, "--dry-run", "-t", "smoke", "-t", "ram")
    assert session.status == 0, session.text[-2000:]
    assert "WARNING" not in session.text
    assert {case["result"] for case in session.cases} <= {"pass", "skip"}
    listed = reframe(tmp_path, "-l", "-t", "smoke", "-t", "ram").listed
    tried = {case["name"].split()[0] for case in session.cases if not case.get("fixture")}
    assert tried == {name.split()[0] for name in listed} - {"BuildKernels"}


def options_of(tmp_path: Path, *settings: str) -> str:
    """The launch line that one test gets with `-S` settings."""
    pairs = [part for setting in settings for part in ("-S", f"S3d.{setting}")]
    session = reframe(
        tmp_path,
        "--dry-run",
        "-t",
        "smoke",
        "-n",
        f"{COLLECTIVE}.*",
        "-p",
        "openmpi",
        *pairs,
        tests="s3d.py",
    )
    assert session.status == 0, session.text
    return session.scripts("openmpi")[0].read_text().split("\nmpiexec")[1]


@pytest.mark.slow
def test_variables_reach_the_launch_line(tmp_path: Path) -> None:
    line = options_of(
        tmp_path,
        *("num_tasks=3", "repeats=5", "steps=4", "fsync=no", "ceilings=no", "drop_caches=no"),
        *("hints=cb_nodes=1 cb_config_list=*:2", "buffer=re used; touch it"),
    )
    assert "--buffer 're used; touch it' " in line
    assert " -n 3 " in line
    assert "--procs-grid 3x1x1" in line
    assert "--repeat 5" in line
    assert "--steps 4" in line
    assert '"${hints[@]}"' in line
    assert "--fsync" not in line
    assert "--ceilings" not in line
    assert "--drop-caches" not in line


@pytest.mark.slow
def test_what_is_measured_unless_asked_otherwise(tmp_path: Path) -> None:
    line = options_of(tmp_path)
    assert "--repeat 3 --fsync --ceilings --drop-caches" in line
    assert "hint" not in line


@pytest.mark.slow
def test_a_wrong_hint_fails_with_its_text(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-n", COLLECTIVE, "-p", "openmpi")
    # ReFrame underlines the place in our code, which code whose lines are counted does not tell.
    plain = {key: value for key, value in os.environ.items() if key != "IOGAUGE_COUNTS"}
    wrong = ("-S", "S3d.hints=cb_nodes")
    session = reframe(tmp_path, "--dry-run", *only, *wrong, tests="s3d.py", environment=plain)
    assert session.status == 1
    assert "hints: 'cb_nodes': expected K=V" in session.text


def test_parameterize_and_repeat_work(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-t", "ram", "-n", COLLECTIVE)
    listed = reframe(tmp_path, "-l", *only, "-P", "num_tasks=1,2", tests="s3d.py").listed
    assert [name[-1] for name in sorted(listed)] == ["1", "2"]
    assert len(reframe(tmp_path, "-l", *only, "--repeat=3", tests="s3d.py").listed) == 3


# ---------------------------------------------------------------------------- skipping


def skips(session_text: str) -> list[str]:
    return [line for line in session_text.splitlines() if "SKIP" in line]


def test_more_processes_than_cores_is_refused_for_mpich_and_says_why(tmp_path: Path) -> None:
    config = changed_site(tmp_path, "environ('mpich')['extras']['max_processes']['count'] = 2")
    only = ("--dry-run", "-t", "smoke", "-t", "ram", "-n", COLLECTIVE, "-S", "S3d.num_tasks=3")
    session = reframe(tmp_path, *only, config=config, tests="s3d.py")
    (skip,) = skips(session.text)
    assert "+mpich" in skip
    assert "3 processes asked for, stack mpich runs at most 2" in skip
    assert "busy-polls" in skip
    assert [c["environ"] for c in session.cases if c["result"] == "pass"] == ["openmpi"]
    (case,) = [c for c in session.cases if c["result"] == "skip"]
    assert "busy-polls" in case["skip_reason"]


def test_a_missing_launcher_skips_and_names_its_package(tmp_path: Path) -> None:
    config = changed_site(
        tmp_path,
        "environ('mpich')['extras']['needs']['mpi'].append("
        "{'what': 'mpiexec.nosuch', 'from': 'Debian package nosuch'})",
    )
    only = ("-r", "-t", "smoke", "-t", "ram", "-n", "S3d.*call=null", "-p", "mpich")
    session = reframe(tmp_path, *only, config=config, tests="s3d.py")
    assert session.status == 0, session.text
    (skip,) = skips(session.text)
    assert "stack mpich: mpiexec.nosuch is missing (Debian package nosuch)" in skip


def test_a_missing_library_skips_its_own_tests_only(tmp_path: Path) -> None:
    config = changed_site(
        tmp_path,
        "environ('openmpi')['extras']['needs']['pnetcdf'] = ["
        "{'what': '/nosuch/pnetcdf.h', 'from': 'Debian package libpnetcdf-dev'}]",
    )
    only = ("--dry-run", "-t", "smoke", "-t", "ram", "-n", "S3d", "-p", "openmpi")
    session = reframe(tmp_path, *only, config=config, tests="s3d.py")
    assert len(skips(session.text)) == 4  # its modes, and behind I/O processes
    assert all("/nosuch/pnetcdf.h is missing" in skip for skip in skips(session.text))
    assert {c["method"] for c in session.cases if c["result"] == "skip"} == {"pnetcdf", "ioserver"}
    (build,) = session.output.glob("stage/*/local/host/openmpi/BuildKernels*/rfm_build.sh")
    assert "-DIOKERNEL_PNETCDF=OFF" in build.read_text()
    assert "-DIOKERNEL_HDF5=OFF" not in build.read_text()


def test_a_feature_that_no_stack_has_leaves_no_tests(tmp_path: Path) -> None:
    config = changed_site(tmp_path, "environ('mpich')['features'].remove('hdf5')")
    session = reframe(
        tmp_path, "--dry-run", "-t", "smoke", "-n", "S3d.*call=hdf5", config=config, tests="s3d.py"
    )
    assert {case["environ"] for case in session.cases} == {"openmpi"}


def test_a_file_system_that_is_not_there_skips_and_names_it(tmp_path: Path) -> None:
    config = changed_site(tmp_path, "partition['extras']['filesystems']['ram']['path'] = '/nosuch'")
    only = ("--dry-run", "-t", "smoke", "-n", COLLECTIVE, "-p", "openmpi")
    session = reframe(tmp_path, *only, config=config, tests="s3d.py")
    (skip,) = skips(session.text)
    assert "%fs=ram" in skip
    assert "/nosuch is not a folder" in skip


def test_a_full_file_system_skips_with_the_room_that_is_needed(tmp_path: Path) -> None:
    config = changed_site(
        tmp_path, "environ('openmpi')['extras']['max_processes']['count'] = 10000"
    )
    only = ("--dry-run", "-t", "paper", "-t", "ram", "-n", COLLECTIVE, "-p", "openmpi")
    # As many processes as in the document: a run is not scaled down to this machine.
    count = ("-S", "S3d.num_tasks=4096")
    session = reframe(tmp_path, *only, *count, config=config, tests="s3d.py")
    (skip,) = skips(session.text)
    # Twice 305.18 GiB, which the S3D-IO document prints.
    assert "610.4 GiB are needed" in skip


def test_the_number_of_a_scale_can_be_overridden(tmp_path: Path) -> None:
    only = ("--dry-run", "-t", "node", "-t", "ram", "-n", COLLECTIVE, "-p", "openmpi")
    session = reframe(tmp_path, *only, "-S", "S3d.num_tasks=6", tests="s3d.py")
    (script,) = session.scripts("openmpi")
    # 50 x 50 x 50 points for each of 3 x 2 x 1 processes.
    assert "--grid 150x100x50 --procs-grid 3x2x1" in script.read_text()


def test_file_system_hints_and_prefix_come_from_the_site(tmp_path: Path) -> None:
    config = changed_site(
        tmp_path,
        "partition['extras']['filesystems']['ram'] |= "
        "{'prefix': 'ufs:', 'hints': {'cb_nodes': '1', 'romio_cb_write': 'enable'}}",
    )
    only = ("--dry-run", "-t", "smoke", "-t", "ram", "-n", COLLECTIVE)
    session = reframe(tmp_path, *only, "-S", "S3d.hints=cb_nodes=2", config=config, tests="s3d.py")
    hints = "hints=(\n    --hint cb_nodes=2\n    --hint romio_cb_write=enable\n)\n"
    # The prefix is a word of ROMIO's; OMPIO would look for a folder `ufs:`.
    for stack, prefix in (("mpich", "--prefix ufs: "), ("openmpi", "")):
        (script,) = session.scripts(stack)
        assert hints in script.read_text()
        assert f'--dir "$run_dir" {prefix}"${{hints[@]}}"' in script.read_text()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("partition['scheduler'] = 'local.j3'", "local.j3"),
        ("partition['environs'].append('nosuch')", "nosuch"),
    ],
)
def test_a_typo_in_a_site_file_is_named(tmp_path: Path, code: str, message: str) -> None:
    session = reframe(tmp_path, "-l", config=changed_site(tmp_path, code), tests="s3d.py")
    assert session.status == 1
    assert message in session.text


def test_an_error_in_a_sites_template_fails_a_dry_run(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    parts = "analysis docs iogauge kernels references reframe_tests site_configs templates"
    for folder in parts.split():
        shutil.copytree(ROOT / folder, root / folder)
    own = root / "templates" / "sites" / "local" / "local.sh.j2"
    own.parent.mkdir(parents=True)
    own.write_text(
        '{% extends "local.sh.j2" %}\n{% block stripe %}\n{{ stripes }}\n{% endblock %}\n'
    )
    session = reframe(
        tmp_path / "output",
        *("--dry-run", "-t", "smoke", "-t", "ram", "-n", COLLECTIVE, "-p", "openmpi"),
        config=root / "site_configs" / "local.py",
        root=root,
        tests="s3d.py",
    )
    assert session.status == 1
    assert "templates/sites/local/local.sh.j2, line 3: 'stripes' is undefined" in session.text


def test_a_replay_needs_a_log(tmp_path: Path) -> None:
    """Without one it is not there; what cannot be replayed is skipped, and why."""
    assert not reframe(tmp_path, "-l", tests="replay.py").listed
    counters = ROOT / "tests" / "data" / "darshan" / "mpich-holes" / "trace.darshan"
    session = reframe(
        tmp_path, "--dry-run", "-n", "Replay.*fs=ram", "-p", "openmpi", "-S",
        f"Replay.log={counters}", tests="replay.py",
    )  # fmt: skip
    assert "only counters, no single access (DXT)" in session.text


def test_a_file_like_the_users_needs_one(tmp_path: Path) -> None:
    assert not reframe(tmp_path, "-l", tests="like_file.py").listed
    session = reframe(
        tmp_path, "--dry-run", "-n", "LikeFile.*fs=ram.*call=posix(%|$)", "-p", "openmpi", "-S",
        "LikeFile.file=/no/such.nc", tests="like_file.py",
    )  # fmt: skip
    assert "/no/such.nc: cannot be read (No such file or directory)" in session.text
