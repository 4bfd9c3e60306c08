# SPDX-License-Identifier: BSD-3-Clause
"""The archive of a bundle: a hostile or damaged one is refused, and writes nothing outside."""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.bundle import archive


def entry(name: str, **more: Any) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(found, key, value)
    return found


HOSTILE = {
    "a way out": entry("../out"),
    "a way out of a run": entry("runs/0001/../../../out"),
    "an absolute name": entry("/tmp/out"),
    "a folder": entry("runs", type=tarfile.DIRTYPE),
    "a link": entry("runs/0001/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": entry("runs/0001/x", type=tarfile.LNKTYPE, linkname="MANIFEST"),
    "a device": entry("x", type=tarfile.CHRTYPE),
    "a pipe": entry("x", type=tarfile.FIFOTYPE),
    "a hidden file": entry(".bashrc"),
    "a deep folder": entry("runs/0001/a/b"),
    "an escape": entry("a\x1b[2J"),
    "a huge file": entry("x", size=2**33 - 1),
    "a name of an extension": entry("x" * 200),
}


@pytest.mark.parametrize("wrong", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_tar_file_is_refused(wrong: tarfile.TarInfo, tmp_path: Path) -> None:
    header = wrong.tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "t.tar").write_bytes(header + bytes(10240))
    place = tmp_path / "in" / "here"
    place.mkdir(parents=True)
    with pytest.raises(archive.BadBundleError) as caught:
        archive.extract(tmp_path / "t.tar", place)
    assert "\x1b" not in str(caught.value)
    assert not list(place.rglob("*")) and {p.name for p in tmp_path.iterdir()} == {"t.tar", "in"}


@given(st.integers(0, 4095), st.binary(min_size=1, max_size=40))
def test_any_change_of_a_tar_file_is_read_or_refused(at: int, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "a").write_text("x" * 700)
        (place / "b").write_text("y")
        with (place / "t.tar").open("wb") as file:
            archive.write(place, ["a", "b"], file)
        whole = bytearray((place / "t.tar").read_bytes())
        whole[at : at + len(data)] = data
        (place / "t.tar").write_bytes(whole)
        (place / "in").mkdir()
        with contextlib.suppress(archive.BadBundleError):
            archive.extract(place / "t.tar", place / "in")
        assert {path.name for path in place.iterdir()} == {"a", "b", "t.tar", "in"}


LIMITS = {
    "the largest file": ({"LARGEST": 700}, "'b' has 701 bytes; expected at most 700"),
    "all bytes": ({"MOST_BYTES": 1400}, "more than 200000 files or 1400 bytes"),
    "files": ({"MOST_FILES": 1}, "more than 1 files"),
    "names": ({"NAME": re.compile("a")}, "'b' is not a valid file name"),
    "none": ({"LARGEST": 701, "MOST_BYTES": 1401, "MOST_FILES": 2}, ""),
}


@pytest.mark.parametrize(("limits", "said"), LIMITS.values(), ids=LIMITS)
def test_what_is_not_read_is_not_written(
    limits: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate("ab"):
        (tmp_path / name).write_text("x" * (700 + number))
    with (tmp_path / "t.tar").open("wb") as file:
        archive.write(tmp_path, ["a", "b"], file)
    for name, value in limits.items():
        monkeypatch.setattr(archive, name, value)
    for act in (
        lambda: archive.write(tmp_path, ["a", "b"], io.BytesIO()),
        lambda: archive.extract(tmp_path / "t.tar", tmp_path / "in"),
    ):
        with (
            pytest.raises(archive.BadBundleError, match=said) if said else contextlib.nullcontext()
        ):
            act()
