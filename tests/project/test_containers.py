# SPDX-License-Identifier: BSD-3-Clause
"""Images: their two recipes have the same steps, and a program of one runs with another MPI library
of its ABI, here with libraries made for the test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT

CONTAINERS = ROOT / "containers"
RECIPES = [CONTAINERS / "Dockerfile", CONTAINERS / "iogauge.def"]
OURS, THEIRS = 7, 42


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_each_step_is_in_each_recipe_once(recipe: Path) -> None:
    steps = re.findall(r"^([a-z]+)\(\) \{$", (CONTAINERS / "steps.sh").read_text(), re.MULTILINE)
    called = re.findall(r"containers/steps\.sh ((?!containers)[a-z]+)", recipe.read_text())
    assert called[:3] == ["libraries", "kernels", "runtime"]
    assert called[3:] == (["check"] if recipe.suffix == ".def" else [])  # Docker's user runs it
    assert set(called) <= set(steps)


def test_what_apptainer_copies_is_there_and_enough() -> None:
    """Each folder of the checkout that the image of Docker has by `COPY . .`, but for tests and
    papers."""
    stages = (CONTAINERS / "iogauge.def").read_text().split("Stage: ")[1:]
    copied = [set(re.findall(r"^ +(\S+) /opt/iogauge/$", stage, re.MULTILINE)) for stage in stages]
    assert all((ROOT / name).exists() for names in copied for name in names)
    dockerfile = (CONTAINERS / "Dockerfile").read_text().partition("AS run")[0]
    assert {
        Path(name).parts[0] for name in re.findall(r"^COPY (\S+) ", dockerfile, re.MULTILINE)
    } == copied[0]
    assert copied[1] >= {"analysis", "docs", "iogauge", "references", "reframe_tests", "templates"}


def test_the_kernels_are_built_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """Apptainer's %post has the machine's /tmp, where another user's build may lie: nothing has a
    name that both would take, and nothing stays."""
    tree, temporary, programs = tmp_path / "checkout", tmp_path / "tmp", tmp_path / "bin"
    for name in ("containers", "environments/debian"):
        shutil.copytree(ROOT / name, tree / name)
    (tree / ".local" / "kernels").mkdir(parents=True)
    library(tree / ".local" / "stacks" / "mpich" / "lib", "libpnetcdf.so", OURS)
    temporary.mkdir()
    install = 'mkdir -p "$5" "$7/bin"; echo "$5" >>made; cp /bin/true "$7/bin/iokernel"'
    script(tree / ".venv" / "bin" / "iogauge", install)
    subprocess.run(
        [tree / "containers" / "steps.sh", "kernels"],
        check=True,
        env={"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(temporary)},
    )
    made = [Path(line) for line in (tree / "made").read_text().split()]
    assert [path.name for path in made] == ["openmpi", "mpich"]
    assert all(path.is_relative_to(temporary) and path.parent != temporary for path in made)
    assert list(temporary.iterdir()) == []


def script(path: Path, lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)


def test_the_image_with_spack_has_what_the_recipe_reads() -> None:
    """Each file that the package's recipe names is copied before Spack is asked for it."""
    recipe = ROOT / "spack_repo" / "iogauge" / "packages" / "iokernel" / "package.py"
    wanted = set(re.findall(r'CHECKOUT / "([^"]+)"', recipe.read_text()))
    before = (CONTAINERS / "Dockerfile.spack").read_text().partition("spack bootstrap")[0]
    copied = {
        name
        for words in re.findall(r"^COPY (.+) \S+$", before, re.MULTILINE)
        for name in words.split()
    }
    assert all((ROOT / name).exists() for name in copied)
    assert {"CITATION.cff", "kernels"} <= wanted
    # The recipe names the address of README.md, and does not open it.
    assert wanted - {"README.md"} <= copied


# ---------------------------------------------------------------- the machine's MPI


def library(folder: Path, soname: str, answer: int) -> Path:
    """An MPI whose one function says which it is."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "who.c"
    source.write_text(f"int who(void) {{ return {answer}; }}\n")
    made = folder / soname
    compile_(source, "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", made)
    return made


def compile_(*words: object) -> None:
    subprocess.run(["cc", *map(str, words)], check=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With the scripts alone, and a program that was built with Debian's MPICH."""
    tree = tmp_path / "checkout"
    for name in ("containers", "environments/debian"):
        shutil.copytree(ROOT / name, tree / name)
    ours = library(tmp_path / "image", "libmpich.so.12", OURS)
    source = tmp_path / "program.c"
    source.write_text("int who(void);\nint main(void) { return who(); }\n")
    compile_(source, ours, f"-Wl,-rpath,{ours.parent},--enable-new-dtags", "-o", tree / "program")
    return tree


def host_mpi(tree: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = (tree / "containers" / "host_mpi.sh", *more, folder, tree / "program")
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )


def test_the_image_s_program_runs_with_the_machine_s_library(
    checkout: Path, tmp_path: Path
) -> None:
    assert subprocess.run([checkout / "program"], check=False).returncode == OURS
    theirs = library(tmp_path / "host" / "lib", "libmpi.so.12", THEIRS)
    without = host_mpi(checkout, tmp_path / "host")
    assert without.returncode == 3
    assert "environments/debian/mpich_abi.sh" in without.stderr
    subprocess.run([checkout / "environments" / "debian" / "mpich_abi.sh"], check=True)
    found = host_mpi(checkout, tmp_path / "host", "--show")
    assert found.returncode == THEIRS, found.stderr
    assert f"libmpi.so.12 => {theirs} " in found.stderr


def test_another_abi_is_refused(checkout: Path, tmp_path: Path) -> None:
    library(tmp_path / "host" / "lib", "libmpi.so.40", THEIRS)
    found = host_mpi(checkout, tmp_path / "host")
    assert found.returncode == 3
    assert "libmpi.so.12" in found.stderr and "another ABI" in found.stderr
