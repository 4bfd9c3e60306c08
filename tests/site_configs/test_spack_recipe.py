# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe says who maintains it and where its source is, from CITATION.cff alone."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from iogauge.common.paths import ROOT

RECIPE = Path("spack_repo/iogauge/packages/iokernel/package.py")
DIRECTIVES = ("maintainers", "license", "version", "variant", "depends_on", "conflicts")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """The words of each of Spack's directives, in the order of the recipe."""
    calls: dict[str, list[Any]] = {name: [] for name in DIRECTIVES}
    package = ModuleType("spack.package")
    package.__dict__["CMakePackage"] = object

    def directive(name: str) -> Callable[..., None]:
        return lambda *words, **_: calls[name].append(words)

    package.__dict__.update({name: directive(name) for name in DIRECTIVES})
    monkeypatch.setitem(sys.modules, "spack", ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    return calls


def a_checkout(folder: Path, cited: str) -> Path:
    for file in (RECIPE, Path("kernels/libraries.def")):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text((ROOT / file).read_text())
    (folder / "CITATION.cff").write_text((ROOT / "CITATION.cff").read_text() + cited)
    return folder / RECIPE


def test_what_is_not_published_names_no_account_of_a_stranger(
    said: dict[str, list[Any]], tmp_path: Path
) -> None:
    recipe = runpy.run_path(str(a_checkout(tmp_path, "")))["Iokernel"]
    assert said["maintainers"] == []
    assert (recipe.homepage, recipe.git) == (f"{tmp_path.as_uri()}/README.md", tmp_path.as_uri())
    assert said["license"] == [("BSD-3-Clause",)]
    assert ("main",) in said["version"]
    assert any(version[0].count(".") == 2 for version in said["version"])


def test_what_is_published_has_its_address_and_maintainers(
    said: dict[str, list[Any]], tmp_path: Path
) -> None:
    address = "https://forge.example/io/iogauge"
    cited = f'repository-code: "{address}"\ncontact:\n  - name: A\n    alias: a\n  - alias: b\n'
    recipe = runpy.run_path(str(a_checkout(tmp_path, cited)))["Iokernel"]
    assert said["maintainers"] == [("a", "b")]
    assert (recipe.homepage, recipe.git) == (address, address)


def test_lines_are_as_short_as_spack_style_asks() -> None:
    """Its flake8 takes 99 characters, this project's formatter 100."""
    longest = max((ROOT / RECIPE).read_text().splitlines(), key=len)
    assert len(longest) <= 99, longest
