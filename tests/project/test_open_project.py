# SPDX-License-Identifier: BSD-3-Clause
"""What an open project has: a licence line in each source file, one version everywhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import iogauge
from iogauge.common.paths import ROOT

LINE = "SPDX-License-Identifier: BSD-3-Clause"
SOURCES = {
    *(".c", ".h", ".def", ".py", ".sh", ".j2", ".js", ".sql"),
    *(".yaml", ".yml", ".toml", ".cmake", ".cff"),
}
NAMED = {"CMakeLists.txt", "Makefile", "Dockerfile", "Dockerfile.spack", "run"}
# Recorded or made: their form is another program's.
MADE = ("tests/data/session", "tests/data/darshan", "tests/golden/", "requirements/")
# Unchanged, with their own licences.
OTHERS = ("kernels/third_party/jansson/", "kernels/third_party/hdrhistogram/")


def sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip(f"no checkout of git: {listed.stderr.strip()}")
    return [
        name
        for name in listed.stdout.split("\0")
        if (Path(name).suffix in SOURCES or Path(name).name in NAMED)
        and not name.startswith((*MADE, *OTHERS))
        and (ROOT / name).is_file()
    ]


def test_each_source_file_says_its_licence() -> None:
    names = sources()
    assert len(names) > 400
    lacking = [
        name
        for name in names
        if not any(LINE in line for line in (ROOT / name).read_text().splitlines()[:3])
    ]
    assert lacking == []


def test_no_source_file_is_longer_than_400_lines() -> None:
    programs = [name for name in sources() if Path(name).suffix in (".py", ".c", ".h", ".sh")]
    lines = {name: (ROOT / name).read_text().count("\n") for name in programs}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def test_the_version_is_the_same_everywhere() -> None:
    version = iogauge.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text()
