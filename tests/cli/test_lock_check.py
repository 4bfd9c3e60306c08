# SPDX-License-Identifier: BSD-3-Clause
"""Every spack.yaml: right as it stands, and each kind of mistake is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from iogauge.cli import stack as lock_check
from iogauge.cli.main import main
from reframe_tests.machine import spack
from tests.fake_spack import FakeSpack


def test_every_variant_is_checked() -> None:
    """A folder with a spack.yaml is one: no list names them."""
    found = {folder.name for folder in lock_check.environments()}
    assert {"mpich", "openmpi", "debian", "edison", lock_check.ROOT.name} <= found


@pytest.mark.parametrize("folder", lock_check.environments(), ids=lambda folder: folder.name)
def test_the_files_of_an_environment_are_right(folder: Path) -> None:
    assert list(lock_check.problems(folder)) == []


@pytest.mark.parametrize("folder", lock_check.environments(), ids=lambda folder: folder.name)
def test_spacks_own_schema(folder: Path) -> None:
    try:
        program = spack.program()
    except spack.CannotUse as why:
        pytest.skip(f"spack not on PATH: {why}")
    if reason := lock_check.not_made(folder):
        pytest.skip(reason)
    assert lock_check.by_spack(program, folder, concretize=False) is None


def test_each_variant_has_the_version_in_its_name() -> None:
    for variant, package in (("mpich-hdf5-1.10", "hdf5"), ("mpich-hdf5-1.14", "hdf5")):
        packages, _, _ = lock_check.merged(lock_check.ENVIRONMENTS / variant)
        assert packages[package]["require"].startswith(f"@{variant.split('-')[-1]}.")
        assert packages["mpi"]["require"] == "mpich"


def test_a_site_overrides_what_it_includes() -> None:
    packages, _, _ = lock_check.merged(lock_check.ENVIRONMENTS / "sites" / "edison")
    assert packages["cray-mpich"]["require"] == "@7.7.13"
    assert packages["cray-mpich"]["buildable"] is False  # from environments/cray


SHARED = "packages: {mpi: {require: mpich}, mpich: {require: '@4.2.1'}}\n"
RIGHT = "spack: {include: [shared.yaml], specs: [mpi]}\n"


def complaints(tmp_path: Path, text: str = RIGHT, shared: str = SHARED) -> str:
    (tmp_path / "spack.yaml").write_text(text)
    (tmp_path / "shared.yaml").write_text(shared)
    return "\n".join(lock_check.problems(tmp_path))


MISTAKES = {
    "a word that is no key": (RIGHT.replace("specs", "spec"), SHARED, "unknown key spec; use"),
    "no YAML": ("spack: {", SHARED, "spack.yaml: "),
    "another top": ("stack: {}", SHARED, "'spack'"),
    "a section that is none": (RIGHT, "package: {}", "unknown key package; use"),
    "a file that is not there": (RIGHT.replace("shared.yaml", "gone.yaml"), SHARED, "include gone"),
    "a path of one machine": (RIGHT.replace("[shared", "[/etc/shared"), SHARED, "of one machine"),
    "a list without a name": (RIGHT.replace("[mpi]", "[$libs]"), SHARED, "$libs is not defined"),
    "no version": (RIGHT.replace("[mpi]", "[mpi, hdf5]"), SHARED, "hdf5 has no version"),
    "a range": (RIGHT, SHARED.replace("@4.2.1", "@4.2:"), "mpich has no version"),
    "no MPI": (RIGHT, "packages: {mpich: {require: '@4.2.1'}}", "which MPI this stack has"),
    "another external": (
        RIGHT,
        SHARED.replace("'@4.2.1'", "'@4.2.1', externals: [{spec: mpich@3.4, prefix: /opt}]"),
        "external mpich@3.4 is not the required @4.2.1",
    ),
}


# Of Spack's manual: sections -> to replace in RIGHT.
MATRIX = (
    "[mpi, {matrix: [[hdf5@1.14, zlib@1.3], ['^mpich@4.2.1'], ['%gcc@12', $%cc]], exclude: [a]}]"
)
CC = "definitions: [{cc: [gcc@12], when: 'True'}, {libs: [{matrix: [[hdf5@1.14], [+mpi]]}]}]"
LEGAL = {
    "it": RIGHT,
    "a matrix": f"spack: {{include: [shared.yaml], {CC}, specs: {MATRIX}}}",
    "a matrix of a definition": f"spack: {{include: [shared.yaml], {CC}, specs: [mpi, $libs]}}",
    "an include as an object": RIGHT.replace("[shared.yaml]", "[{path: shared.yaml}]"),
    "includes that a machine may lack": RIGHT.replace(
        "shared.yaml]", "shared.yaml, {path: gone, when: os == 'x'}, {path: b, optional: true}]"
    ),
    "includes from elsewhere": RIGHT.replace(
        "shared.yaml]", "shared.yaml, 'https://x.org/a.yaml', $spack/b, {git: 'g', paths: [c]}]"
    ),
    "more sections": RIGHT.replace("include:", "concretizer: {unify: true}, modules: {}, include:"),
    "own packages": "spack: {packages: {mpi: {require: [mpich@4.2.1]}}, specs: [mpi]}",
    "a requirement of several": (
        "spack: {packages: {mpi: {require: [{one_of: [mpich@4.2.1, mpich@4.1]}]}, mpich: {require:"
        " [{any_of: ['@4.2.1', '@4.1']}], externals: [{spec: mpich@4.1, prefix: /opt}]}},"
        " specs: [mpi]}"
    ),
    "nothing in a section": RIGHT.replace("include:", "definitions:, packages:, include:"),
}


@pytest.mark.parametrize("case", LEGAL)
def test_what_spack_allows_is_no_mistake(case: str, tmp_path: Path) -> None:
    assert complaints(tmp_path, LEGAL[case]) == ""


def test_a_mistake_in_a_matrix_is_named_too(tmp_path: Path) -> None:
    text = LEGAL["a matrix"].replace("zlib@1.3", "zlib").replace("$%cc", "$%gone")
    found = complaints(tmp_path, text)
    assert "zlib has no version" in found and "$%gone is not defined; use one of cc" in found


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake: str, tmp_path: Path) -> None:
    text, shared, named = MISTAKES[mistake]
    assert named in complaints(tmp_path, text, shared)


def test_a_variant_without_a_solution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complaints(tmp_path)
    fake = FakeSpack(tmp_path / "fake")
    fake.answer("-e spec", "==> Error: concretization failed: no mpich@9\n", status=1)
    monkeypatch.setenv("PATH", f"{fake.folder / 'bin'}:/usr/bin:/bin")
    assert main(["stack", "check", "--concretize", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "does not concretize" in said
    assert "no mpich@9" in said
    assert f"run: spack -e {tmp_path} spec" in said


def test_without_spack_that_part_is_skipped_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complaints(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    assert main(["stack", "check", str(tmp_path)]) == 0
    assert "skipped: spack is not on PATH" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "maker"),
    [
        ("made/packages.yaml", "environments/debian/link_farm.sh"),
        ("made/spack-mirror/settings", "make spack-mirror"),
    ],
)
def test_what_a_script_makes_is_skipped_until_it_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    made: str,
    maker: str,
) -> None:
    complaints(tmp_path, RIGHT.replace("shared.yaml", f"shared.yaml, {made}"))
    monkeypatch.setattr(lock_check, "MADE", tmp_path / "made")
    monkeypatch.setenv("PATH", f"{FakeSpack(tmp_path / 'fake').folder / 'bin'}:/usr/bin:/bin")
    assert main(["stack", "check", "--concretize", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"{made} does not exist yet; run: {maker}" in said
