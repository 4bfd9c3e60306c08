# SPDX-License-Identifier: BSD-3-Clause
"""Spack environments as stacks: what is found, and what a user reads where something is missing."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from reframe_tests.machine import spack
from tests.fake_spack import FakeSpack

NONE: dict[str, tuple[str, Path]] = {}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSpack:
    found = FakeSpack(tmp_path / "fake")
    monkeypatch.setenv("PATH", f"{found.folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(spack, "ENVIRONMENTS", found.environments)
    monkeypatch.setattr(spack, "SPACK_STATE", tmp_path / "state")
    return found


def prefix(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


def whole(fake: FakeSpack, tmp_path: Path) -> spack.Environment:
    packages = {
        "mpich": ("4.2.1", prefix(tmp_path / "mpich", "lib/libmpi.so.12", "lib/libmpi.so.12.1.2")),
        "hdf5": ("1.14.3", tmp_path / "hdf5"),
        "ior": ("4.0.0", tmp_path / "ior"),
        "darshan-runtime": ("3.4.5", tmp_path / "darshan"),
    }
    fake.environment("one", packages, {"mpi": "mpich", "hdf5": "hdf5", "ior@4": "ior"})
    found = spack.find.__wrapped__("one")
    assert isinstance(found, spack.Environment), found
    return found


def why(variant: str) -> str:
    found = spack.find.__wrapped__(variant)
    assert isinstance(found, spack.CannotUse)
    return str(found)


def test_an_environment_says_all_that_a_site_file_would(fake: FakeSpack, tmp_path: Path) -> None:
    extras = whole(fake, tmp_path).extras(["--opt"])
    assert extras == {
        "mpi_library": "libmpi.so.12",
        "launcher": {"command": f"{tmp_path}/mpich/bin/mpiexec", "options": ["--opt"]},
        "cmake": {
            "mpi": [f"-DCMAKE_C_COMPILER={tmp_path}/mpich/bin/mpicc"],
            "hdf5": [f"-DHDF5_ROOT={tmp_path}/hdf5"],
        },
        "ior": f"{tmp_path}/ior/bin/ior",
        "darshan": f"{tmp_path}/darshan",
    }


def test_versions_and_hashes_are_provenance(fake: FakeSpack, tmp_path: Path) -> None:
    found = whole(fake, tmp_path)
    assert found.provenance["hdf5"] == "1.14.3/hdf5000"
    assert found.lock == fake.environments / "one" / "spack.lock"


OLD = ["has hdf5 1.10.11, and cgns-multi needs 1.14 or newer"]


@pytest.mark.parametrize(
    ("cgns", "hdf5", "reasons"),
    [
        ("4.4.0", "1.14.3", []),
        ("4.5.0", "1.14.1-2", []),
        ("4.4.0", "1.10.11", OLD),
        ("4.3.0", "1.10.11", ["has cgns 4.3.0, and cgns-multi needs 4.4 or newer", *OLD]),
    ],
)
def test_a_library_that_is_too_old(
    fake: FakeSpack, tmp_path: Path, cgns: str, hdf5: str, reasons: list[str]
) -> None:
    packages = {"mpich": ("4.2.1", tmp_path), "cgns": (cgns, tmp_path), "hdf5": (hdf5, tmp_path)}
    fake.environment("one", packages, {"mpi": "mpich"})
    found = spack.find.__wrapped__("one")
    assert isinstance(found, spack.Environment)
    assert found.lacking(["mpi", "hdf5", "cgns", "cgns-multi"]) == reasons
    assert found.lacking(["hdf5", "pnetcdf"]) == ["has no parallel-netcdf"]


@pytest.mark.parametrize(
    ("mpi", "others", "features"),
    [
        (
            "mpich",
            {"hdf5": "1.14.5", "cgns": "4.5.0"},
            ["romio", "hdf5", "cgns", "cgns-multi", "hdf5-multi"],
        ),
        ("openmpi", {"hdf5": "1.10.11", "cgns": "4.5.0"}, ["hdf5", "cgns"]),
        ("openmpi", {"parallel-netcdf": "1.12.3"}, ["pnetcdf"]),
        ("openmpi", {"parallel-netcdf": "1.14.0"}, ["pnetcdf", "pnetcdf-aggregation"]),
        ("openmpi", {"hdf5": "1.12.2", "netcdf-c": "4.9.2"}, ["hdf5", "netcdf4"]),
        ("openmpi", {"adios2": "2.10.2"}, ["adios2"]),
    ],
)
def test_features_are_what_the_stack_has(
    fake: FakeSpack, mpi: str, others: dict[str, str], features: list[str]
) -> None:
    folder = fake.environment("one", NONE, {})
    specs = {name: {"name": name, "version": text} for name, text in {mpi: "5.0", **others}.items()}
    lock = {"roots": [{"spec": "mpi", "hash": mpi}], "concrete_specs": specs}
    (folder / "spack.lock").write_text(json.dumps(lock))
    assert spack.features("one") == features


@pytest.mark.parametrize("text", ["{", "[]", '{"roots": [], "concrete_specs": {}}', None])
def test_of_a_stack_that_is_not_known_all_is_asked(fake: FakeSpack, text: str | None) -> None:
    lock = fake.environment("one", NONE, {}) / "spack.lock"
    lock.unlink() if text is None else lock.write_text(text)
    right = ["romio", "hdf5", "pnetcdf", "netcdf4", "adios2", "cgns", "cgns-multi", "hdf5-multi"]
    right += ["pnetcdf-aggregation"]
    assert spack.features("one") == right


def test_what_jobs_source_adds_to_their_own_path(fake: FakeSpack, tmp_path: Path) -> None:
    whole(fake, tmp_path)
    spack.find.cache_clear()
    spack.write_activation("one")
    file = spack.activation_file("one")
    script = f'set -eu; PATH=/job:/usr/bin:/bin; . {file}; echo "$PATH"; alias'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{fake.environments}/one/view/bin:/job:/usr/bin:/bin"]


def test_an_activation_is_written_anew_only_if_it_changed(
    fake: FakeSpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that runs meanwhile reads a whole file, of now."""
    wrote: list[Path] = []

    def write(path: Path, text: str) -> None:
        wrote.append(path)
        path.write_text(text)

    monkeypatch.setattr(spack, "write_whole", write)
    file = spack.activation_file("nowhere")
    file.parent.mkdir(parents=True, exist_ok=True)
    for text, times in ((None, 1), (None, 1), ("old", 2)):
        if text:
            file.write_text(text)
        spack.find.cache_clear()
        spack.write_activation("nowhere")
        assert wrote == [file] * times and file.read_text().startswith("# nothing: ")


def test_what_cannot_be_used_is_a_comment_for_jobs(fake: FakeSpack) -> None:
    spack.find.cache_clear()
    spack.write_activation("nowhere")
    subprocess.run(["sh", "-eu", spack.activation_file("nowhere")], check=True)
    assert "unknown" in spack.activation_file("nowhere").read_text()


def test_no_spack(monkeypatch: pytest.MonkeyPatch, fake: FakeSpack) -> None:
    fake.environment("one", NONE, {})
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    assert "spack is not on PATH" in why("one")
    assert "run: . SPACK/share/spack/setup-env.sh" in why("one")
    monkeypatch.setenv("SPACK_ROOT", str(fake.folder))
    assert spack.program() == str(fake.folder / "bin" / "spack")


@pytest.mark.parametrize("version", ["0.21.3\n", "0.9\n", "what?\n"])
def test_an_old_spack(fake: FakeSpack, version: str) -> None:
    fake.environment("one", NONE, {})
    fake.answer("--version", version)
    assert version.strip() in why("one")
    assert "0.22 is the oldest" in why("one")
    assert "run: git -C" in why("one")


@pytest.mark.parametrize(
    "version", ["0.22.0.dev0 (990f0b8)\n", "0.23.1\n", "1.0.0\n", "1.1.0.dev0\n"]
)
def test_a_spack_that_is_new_enough(fake: FakeSpack, version: str) -> None:
    fake.answer("--version", version)
    assert spack.program()


def test_not_concretized(fake: FakeSpack) -> None:
    folder = fake.environment("one", NONE, {})
    (folder / "spack.lock").unlink()
    assert f"one is not installed; run: spack -e {folder} install" in why("one")


def test_a_broken_lock(fake: FakeSpack) -> None:
    folder = fake.environment("one", NONE, {})
    for text in ("{", "[]", '{"roots": [{}]}'):
        (folder / "spack.lock").write_text(text)
        assert f"run: spack -e {folder} concretize --force" in why("one")


def test_half_installed(fake: FakeSpack, tmp_path: Path) -> None:
    packages = {"mpich": ("4.2.1", tmp_path)}
    folder = fake.environment("one", packages, {"mpi": "mpich", "hdf5": "hdf5", "cgns": "cgns"})
    assert f"is not installed: cgns, hdf5 missing; run: spack -e {folder} install" in why("one")


def test_no_mpi(fake: FakeSpack, tmp_path: Path) -> None:
    folder = fake.environment("one", {"hdf5": ("1.14.3", tmp_path)}, {"hdf5": "hdf5"})
    assert f"has no spec `mpi`; run: spack -e {folder} add mpi" in why("one")


def test_an_mpi_without_its_library(fake: FakeSpack, tmp_path: Path) -> None:
    folder = fake.environment("one", {"mpich": ("4.2.1", tmp_path)}, {"mpi": "mpich"})
    found = spack.find.__wrapped__("one")
    assert isinstance(found, spack.Environment)
    with pytest.raises(spack.CannotUse, match=f"run: spack -e {folder} install --overwrite mpich"):
        found.extras([])


def test_an_unknown_environment(fake: FakeSpack) -> None:
    fake.environment("one", NONE, {})
    assert "'two' is unknown; expected one of default, one" in why("two")


def test_spack_itself_fails(fake: FakeSpack) -> None:
    folder = fake.environment("one", NONE, {})
    fake.answer("-e find --format", "==> Error: the database is locked\n", status=1)
    assert f"-e {folder} find" in why("one")
    assert "ended with status 1: ==> Error: the database is locked" in why("one")


def test_the_command_to_run_is_short_inside_the_checkout() -> None:
    assert spack.command(spack.ROOT / "environments" / "mpich") == "spack -e ./environments/mpich"
    assert spack.command(spack.ROOT) == "spack -e ./."


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)


def test_the_source_of_each_numbered_version_is_there() -> None:
    recipe = ROOT / "spack_repo/iogauge/packages/iokernel/package.py"
    found = re.findall(r'version\("([\d.]+)", (?:commit|tag)="([\w.]+)"\)', recipe.read_text())
    assert (ROOT / "VERSION").read_text().strip() in dict(found)
    if not git("tag").stdout:
        pytest.skip("this checkout has no tags: git fetch --tags --unshallow")
    for version, source in found:
        done = git("show", f"{source}:VERSION")
        assert done.stdout.strip() == version, done.stderr
