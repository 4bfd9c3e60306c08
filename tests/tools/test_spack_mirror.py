# SPDX-License-Identifier: BSD-3-Clause
"""`make spack-mirror`: what is given is taken by its sum, and what is missing is said by name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from iogauge.cli import stack as lock_check
from tools import spack_mirror


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spack_mirror, "debian", lambda: None)


def a_table(path: Path, *lines: str) -> None:
    path.write_text("# a comment\n\n" + "\n".join(lines) + "\n")


def an_archive(folder: Path, name: str, data: bytes = b"source") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "table.txt"
    monkeypatch.setattr(spack_mirror, "TABLE", path)
    return path


def test_a_given_archive_is_found_by_its_sum(table: Path, tmp_path: Path) -> None:
    digest = an_archive(tmp_path / "given", "any-name.tar.xz")
    a_table(table, f"parallel-netcdf 1.2 {digest} pool/p/pnetcdf.tar.xz autoreconf")
    assert spack_mirror.fill([tmp_path / "given"], tmp_path / "mirror") == []
    placed = tmp_path / "mirror/archives/parallel-netcdf/parallel-netcdf-1.2.tar.xz"
    assert placed.read_bytes() == b"source"
    recipe = (tmp_path / "mirror/repo/packages/parallel-netcdf/package.py").read_text()
    assert "from spack.pkg.builtin.parallel_netcdf import ParallelNetcdf as Builtin" in recipe
    words = f'version( "1.2", sha256="{digest}", url="{placed.as_uri()}", )'
    assert words in " ".join(recipe.split())
    assert 'depends_on("autoconf", type="build")' in recipe
    compile(recipe, "package.py", "exec")


def test_an_archive_with_another_sum_is_missing(table: Path, tmp_path: Path) -> None:
    an_archive(tmp_path / "given", "hdf5-1.tar.gz", b"changed")
    a_table(table, f"hdf5 1 {hashlib.sha256(b'source').hexdigest()} -")
    (missing,) = spack_mirror.fill([tmp_path / "given"], tmp_path / "mirror")
    assert missing.startswith("hdf5 1: put the archive with sha256 ")
    assert not (tmp_path / "mirror/archives/hdf5/hdf5-1.tar.gz").exists()
    assert not (tmp_path / "mirror/repo/packages/hdf5").exists()


def test_a_folder_says_which_archives_are_its_own(table: Path, tmp_path: Path) -> None:
    digest = an_archive(tmp_path / "given", "own.tar.bz2")
    a_table(tmp_path / "given" / "archives.txt", f"mpich 4 {digest} own.tar.bz2")
    a_table(table, f"mpich 4 {'0' * 64} pool/m/mpich.tar.xz", f"zlib 1 {'1' * 64} pool/z/z.tar.xz")
    (missing,) = spack_mirror.fill([tmp_path / "given"], tmp_path / "mirror")
    assert missing.startswith("zlib 1: this machine has no apt with an archive of Debian")
    assert (tmp_path / "mirror/archives/mpich/mpich-4.tar.bz2").read_bytes() == b"source"


def test_what_is_optional_is_built_where_it_is_given(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """IOR and Darshan: a stack without their archives is whole, and one with them has them."""
    digest = an_archive(tmp_path / "given", "darshan.tar.gz")
    a_table(tmp_path / "given" / "archives.txt", f"darshan-util 3 {digest} darshan.tar.gz")
    a_table(table, f"ior 4 {'0' * 64} - optional", f"darshan-util 3 {'1' * 64} - optional")
    assert spack_mirror.fill([], tmp_path / "mirror") == []
    assert "left out, optional: ior 4: put the archive with sha256 000" in capsys.readouterr().out
    settings = tmp_path / "mirror/settings/definitions.yaml"
    assert yaml.safe_load(settings.read_text()) == {"definitions": [{"given": []}]}
    assert spack_mirror.fill([tmp_path / "given"], tmp_path / "mirror") == []
    assert yaml.safe_load(settings.read_text()) == {"definitions": [{"given": ["darshan-util"]}]}


def test_what_is_given_is_in_the_environment(tmp_path: Path) -> None:
    """Lists of one name add up, as Spack adds them."""
    (tmp_path / "a.yaml").write_text("definitions: [{given: []}]\n")
    (tmp_path / "b.yaml").write_text("definitions: [{given: [ior]}]\n")
    (tmp_path / "spack.yaml").write_text("spack: {include: [a.yaml, b.yaml], specs: [$given]}\n")
    assert lock_check.merged(tmp_path)[1] == {"given": ["ior"]}
    assert any("ior has no version" in said for said in lock_check.problems(tmp_path))


def test_a_line_that_is_none_is_named(table: Path, tmp_path: Path) -> None:
    a_table(table, "hdf5 1.14.5 nonsense -")
    with pytest.raises(spack_mirror.Wrong, match=r"table.txt:3: expected PACKAGE VERSION SHA256"):
        spack_mirror.fill([], tmp_path / "mirror")


def test_the_table_has_what_the_environments_pin() -> None:
    rows = {(row.package, row.version) for row in spack_mirror.read(spack_mirror.TABLE)}
    for variant in ("from-source", "from-source-mpich"):
        packages, _, _ = lock_check.merged(lock_check.ENVIRONMENTS / variant)
        mpi = packages["mpi"]["require"]
        for name in (mpi, "hdf5", "parallel-netcdf", "cgns", "jansson", "zlib"):
            version = lock_check.VERSION.search(packages[name]["require"])
            assert version, name
            assert (name, version[1]) in rows
