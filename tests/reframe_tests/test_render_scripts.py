# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge run --dry-run`: the scripts that ReFrame would submit; and `iogauge collect`."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.analysis.errors import UsageError
from iogauge.measure import offline, sites
from tests.reframe_session import ROOT, Session, changed_site, untraced_kernel


def render(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iogauge", "run", "--dry-run", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_scripts_for_one_partition_work_there(tmp_path: Path) -> None:
    there = ("--there", "/home/me/jobs", "--iokernel", "/home/me/iokernel", "-t", "smoke")
    done = render(
        *("--site", "cetus", "--system", "cetus:batch", "-o", str(tmp_path), *there),
        *("-n", "S3d.*fs=fs0.*call=mpiio:collective"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(map(str, tmp_path.rglob("job.sh")))
    (script,) = tmp_path.rglob("S3d*/job.sh")
    text = script.read_text()
    assert f"\ncd -- /home/me/jobs/{script.parent.relative_to(tmp_path)}\n" in text
    assert "    /home/me/iokernel s3d " in text
    assert "#COBALT -n 128\n" in text
    assert "/stage/" not in text
    subprocess.run(["bash", "-n", script], check=True)


def test_scripts_go_to_their_folder_whatever_its_name(tmp_path: Path) -> None:
    words = ("--site", "vargas", "-n", "S3d%.*fs=workdir.*call=posix%", "--scale", "smoke")
    done = render(*words, "-o", str(tmp_path / "o p; it's $(touch PWN) `x` & \\"))
    assert done.returncode == 0, done.stderr
    scripts = list(tmp_path.rglob("job.sh"))
    assert len(scripts) == 2, "with the job that checks the verification"
    for script in scripts:
        text = script.read_text()
        (own,) = re.findall("^cd -- .*", text, re.M)
        assert shlex.split(own) == ["cd", "--", str(script.parent)]
        assert f"\n# @ initialdir = {script.parent}\n" in text
        assert "/stage/" not in text


@pytest.mark.parametrize("folder", ["jobs", "~/jobs", "./jobs", "/a\nb", "/a\x1bb"])
def test_the_scripts_folder_is_a_path_that_a_script_can_have(folder: str) -> None:
    done = render("--site", "cetus", "-n", "Nothing", "--there", folder)
    assert done.returncode == 2
    assert f"--there {folder!r}: expected an absolute path" in done.stderr


def test_a_program_whose_path_the_site_names_is_the_one_that_runs(tmp_path: Path) -> None:
    """As in a container's image (docs/containers.md); the `iokernel` on PATH is another."""
    code = "environ('openmpi')['extras']['iokernel'] = '/opt/image/iokernel'"
    site = changed_site(tmp_path, f"{code}\npartition['environs'] = ['openmpi']")
    words = ("--site", str(site), "--system", "local", "-n", "S3d%.*call=posix%", "--scale=smoke")
    done = render(*words, "-o", str(tmp_path / "written"))
    assert done.returncode == 0, done.stderr
    scripts = list((tmp_path / "written").rglob("S3d*/job.sh"))
    assert scripts and all("/opt/image/iokernel s3d " in path.read_text() for path in scripts)


def test_what_is_not_there_is_named() -> None:
    done = render("--site", "fauts", "-n", "S3d")
    assert done.returncode == 2 and "did you mean 'faust'?" in done.stderr
    done = render("--site", "faust", "--system", "faust:nosuch", "-n", "S3d")
    assert done.returncode == 1
    assert "nosuch" in done.stderr


def test_what_cannot_run_there_is_counted_with_its_reason(tmp_path: Path) -> None:
    """At this scale there are series of 1 and of 10 files; 1 does not divide over 5 processes."""
    words = ("-n", "^Metadata%", "--scale", "smoke", "-S", "Metadata.num_tasks=5")
    done = render("--site", "babel", *words, "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    scripts = list(tmp_path.rglob("Metadata_*/job.sh"))
    said = re.search(r"^run: (\d+) of (\d+) tests are skipped:\n  (\d+): (.*)", done.stderr, re.M)
    assert said and len(scripts) > 0, done.stderr
    assert list(map(int, said.groups()[:3])) == [len(scripts), 2 * len(scripts), len(scripts)]
    assert said[4].startswith("1 files do not divide over 5 processes")
    assert done.stderr.count("do not divide") == 1


def test_where_nothing_can_run_the_reason_is_said(tmp_path: Path) -> None:
    """The job that checks the verification has a script there."""
    words = ("-n", "S3d%.*call=posix%", "--scale", "smoke", "-S", "num_tasks=2048")
    done = render("--site", "altix", *words, "-o", str(tmp_path))
    assert done.returncode == 1 and not list(tmp_path.rglob("job.sh"))
    assert "no such test can run there: 1 of 1 tests are skipped:" in done.stderr
    assert "the partition has 1" in done.stderr


ONE = ("-t", "smoke", "-t", "ram", "-S", "repeats=1", "-n", "S3d.*call=mpiio:collective")


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of scripts for MPICH on this machine, run by bash alone and brought elsewhere."""
    tmp_path = tmp_path_factory.mktemp("render")
    if not shutil.which("mpicc.mpich"):
        pytest.skip("mpicc.mpich is missing: make setup")
    site = changed_site(tmp_path, "partition['environs'] = ['mpich']")
    written = tmp_path / "written"
    iokernel = str(untraced_kernel(tmp_path))
    options = ("--site", str(site), "--system", "local", "--iokernel", iokernel)
    done = render(*options, "-o", str(written), *ONE)
    assert done.returncode == 0, done.stderr
    for script in written.rglob("job.sh"):
        run = f"cd {script.parent} && ./job.sh > rfm_job.out 2> rfm_job.err"
        environment = {"PATH": "/usr/bin:/bin"}  # none of this project's
        subprocess.run(["bash", "-c", run], env=environment, check=True)
    return written.rename(tmp_path / "carried")


def collect(folder: Path, output: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iogauge", "collect", str(folder), *more],
        cwd=ROOT, env={**os.environ, "IOGAUGE_OUTPUT": str(output)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def site_of(carried: Path) -> tuple[str, str]:
    """The site file of the dry run, which no folder may name."""
    options = json.loads((carried / "rendered.json").read_text())["options"]
    return "--site", options[options.index("-C") + 1]


@pytest.mark.slow
def test_what_scripts_left_becomes_a_session(carried: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    done = collect(carried, output, *site_of(carried))
    assert done.returncode == 0, done.stdout
    (case,) = Session(0, "", output).cases
    kept = Path(case["outputdir"])
    (own,) = carried.rglob("result.json")
    assert (kept / "result.json").read_text() == own.read_text()
    assert (kept / "rfm_job.sh").read_text() == own.with_name("job.sh").read_text()
    assert any(key.endswith(":write_bw") for key in case["perfvalues"])


@pytest.mark.slow
def test_what_is_collected_is_held_against_what_was_asked(carried: Path, tmp_path: Path) -> None:
    """One without results is named too: tests/reframe_tests/test_slurm.py."""
    folder = Path(shutil.copytree(carried, tmp_path / "wrong"))
    (own,) = folder.rglob("result.json")
    own.write_text(own.read_text().replace('"verified"', '"mismatch"'))
    done = collect(folder, tmp_path / "output", *site_of(carried))
    assert done.returncode == 1
    assert "verification/verdict: 'mismatch'" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["-C", "/scratch/x/site.py"], ["-c", "/scratch/x/tests"], ["--report-file=/etc/x"],
        ["--prefix", "/etc"], ["-C"], ["-c", str(ROOT)],
    ],
)  # fmt: skip
def test_a_folder_from_others_runs_no_code_of_theirs(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "rendered.json").write_text(json.dumps({"options": ["-R", *words]}))
    done = collect(tmp_path, tmp_path / "output")
    assert done.returncode == 2, done.stderr
    assert re.search(rf": {re.escape(words[0])} .*: not taken from a folder", done.stderr)
    assert not (tmp_path / "output").exists()


@pytest.fixture
def quick_reframe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Renders one script, or leaves its environment in this file."""
    program, left = tmp_path / "reframe", tmp_path / "environment"
    program.write_text(
        f"""#!/bin/bash
        [[ " $* " == *" --dry-run "* ]] || exec env -0 > {left}
        stage=$IOGAUGE_OUTPUT/stage/site/session/batch/default/S3d_1
        mkdir -p "$stage" && touch "$stage/rfm_job.sh"
        """
    )
    program.chmod(0o755)
    monkeypatch.setattr(offline, "REFRAME", str(program))
    return left


def rendered(folder: Path, site: str, *words: str) -> Path:
    asked = sites.Asked(sites.find(site), site, words)
    offline.render(asked, folder, str(folder), "iokernel")
    return folder


@pytest.mark.parametrize(
    ("site", "name", "value"),
    [("slurm_lustre", "CORES", "7"), ("altix", "SCRATCH", "/s p"), ("local", "RAM", "/ram"),
     ("local", "STACKS", "mpich"), ("babel", "FS", "tmpdir")],
)  # fmt: skip
def test_the_settings_of_the_dry_run_hold_when_its_results_are_collected(
    site: str, name: str, value: str,
    quick_reframe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """And one that was not set then is not now: other figures would be expected."""
    given, other = f"IOGAUGE_{name}", "IOGAUGE_DISK" if site == "local" else "IOGAUGE_FS"
    for one in {given, other}:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(given, value)
    folder = rendered(tmp_path / "jobs", site, "-n", "S3d")
    monkeypatch.delenv(given)
    if other != given:
        monkeypatch.setenv(other, "/other")
    assert offline.collect(folder) == 0
    found = dict(word.split("=", 1) for word in quick_reframe.read_text().split("\0") if word)
    assert found[given] == value
    assert other == given or found[other] == ""


@pytest.mark.usefixtures("quick_reframe")
def test_a_folder_has_the_scripts_of_one_dry_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of a second one had replaced those that the first must be collected with."""
    folder = rendered(tmp_path / "jobs", "slurm_lustre", "-n", "S3d")
    rendered(folder, "slurm_lustre", "-n", "S3d")
    right = "name another folder with --output"
    with pytest.raises(UsageError, match=f"rendered.json: .*{right}"):
        rendered(folder, "slurm_lustre", "-n", "Ior")
    monkeypatch.setenv("IOGAUGE_CORES", "7")
    with pytest.raises(UsageError, match=right):
        rendered(folder, "slurm_lustre", "-n", "S3d")


@pytest.mark.parametrize(
    ("site", "name", "value"),
    [("local", "STACKS", "openmpi prefix:/scratch/x"), ("spack", "SPACK", "/scratch/x"),
     ("spack", "SPACK", "../x")],
)  # fmt: skip
def test_a_folder_from_others_names_no_programs_of_theirs(
    site: str, name: str, value: str,
    quick_reframe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv(f"IOGAUGE_{name}", raising=False)
    settings = {f"IOGAUGE_{name}": value, "PATH": "/scratch/x", "IOGAUGE_TEMPLATES": "/scratch/x"}
    words = ["-C", str(sites.find(site))]
    document = {"options": words, "settings": settings}
    (tmp_path / "rendered.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match=f"rendered.json: IOGAUGE_{name}=.*not taken from"):
        offline.collect(tmp_path)
    assert not quick_reframe.exists()
    settings[f"IOGAUGE_{name}"] = "mpich"
    (tmp_path / "rendered.json").write_text(json.dumps(document))
    assert offline.collect(tmp_path) == 0
    assert "=/scratch/x" not in quick_reframe.read_text()


def test_a_folder_that_is_none_of_render_is_refused(tmp_path: Path) -> None:
    done = collect(tmp_path, tmp_path / "output")
    assert done.returncode == 2
    assert f"{tmp_path}: expected a folder of `iogauge run --dry-run`" in done.stderr
