# SPDX-License-Identifier: BSD-3-Clause
"""The guest: what is decided before one is started, and that none outlives its command.

One that really boots is `make test-fs`'s.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import pytest

from tests.guest import __main__ as guest
from tests.guest.__main__ import Kernel
from tests.mounted_fs import in_guest, kinds
from tests.mounted_fs.kinds import How, Kind, Needs
from tests.mounted_fs.processes import MARK, CannotMount, configure, orangefs
from tests.mounted_fs.table import shared

LINUX = Kernel("6.1", Path("/nowhere"))


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("code", "seconds", "found"),
    [
        (f"print({guest.PROBE!r})", 600, "kvm"),  # it came up, and said so
        ("raise SystemExit(1)", 600, "tcg,thread=multi"),  # /dev/kvm opens, and QEMU ends
        ("import time; time.sleep(600)", 2, "tcg,thread=multi"),  # the guest stands still
    ],
)
def test_kvm_is_taken_where_a_guest_comes_up(
    code: str, seconds: int, found: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(guest.os, "access", lambda *_: True)
    monkeypatch.setattr(guest, "machine", lambda *_: program(code))
    monkeypatch.setattr(guest, "PROBE_SECONDS", seconds)
    assert guest.accelerator(LINUX, Path("none")) == found
    assert ("slower" in capsys.readouterr().out) == (found != "kvm")


def test_a_guest_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "START_AND_END", 0.2)
    started = []
    popen = guest.subprocess.Popen

    def start(*words: object, **more: object) -> object:
        started.append(popen(*words, **more))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(guest.subprocess, "Popen", start)
    with pytest.raises(CannotMount, match="did not end within"):
        guest.boot(program("import time; time.sleep(60)"), 0)
    assert started[0].poll() is not None


def test_what_the_machine_lacks_for_a_guest_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kinds, "find", lambda _: None)
    assert guest.main(["--", "true"]) == guest.NO_GUEST
    assert (
        "qemu-system-x86_64 is missing (environments/debian/setup.sh --test --fs"
        in capsys.readouterr().err
    )


def test_a_guest_needs_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        guest.parse(["--minutes", "3"])
    assert "no command: it comes after --" in capsys.readouterr().err
    asked, command = guest.parse(["--minutes", "3", "--", "ls", "--", "x"])
    assert (asked.minutes, command) == (3, ["ls", "--", "x"])


class Lacking(How):
    needs = Needs(("pvfs2-server",))


def test_no_guest_is_started_for_programs_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(in_guest.guest, "lacking", lambda: "")
    monkeypatch.setattr(kinds, "find", lambda _: None)
    monkeypatch.setattr(in_guest, "hidden", lambda: None)
    monkeypatch.setattr(in_guest.guest, "run_in", lambda *_: pytest.fail("it was started"))
    far = [Kind("far", "farfs", Lacking(), guest=True)]
    assert in_guest.run(far, lambda names: names, tmp_path) is None
    told = capsys.readouterr().out
    assert "not mounted: far: pvfs2-server is missing (of OrangeFS" in told


def test_what_the_guest_does_not_see_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_guest, "ROOT", Path("/home/me/iogauge"))
    monkeypatch.delenv("ORANGEFS", raising=False)
    assert in_guest.hidden() is None and orangefs() == []
    monkeypatch.setenv("ORANGEFS", "/tmp/orangefs")
    assert str(in_guest.hidden()).startswith("/tmp/orangefs/sbin is not seen in the guest")


def test_servers_of_pvfs2_share_no_handle(tmp_path: Path) -> None:
    addresses = {f"s{n}": f"tcp://192.0.2.1:{3334 + n}" for n in range(3)}
    text = configure(tmp_path / "config", "pvfs2.conf", **shared(addresses)).read_text()
    ranges = [(int(a), int(b)) for a, b in re.findall(r"Range \w+ (\d+)-(\d+)", text)]
    assert len(ranges) == 6
    for (_, end), (start, _) in itertools.pairwise(sorted(ranges)):
        assert end < start
    assert text.count("Alias s") == 3 and f"DataStorageSpace {tmp_path}/data" in text


def test_what_a_guest_left_replaces_only_what_a_guest_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def prepare(work: Path, *_: object) -> None:
        (work / "out" / "output").mkdir(parents=True)
        (work / "out" / "output" / "new").touch()
        (work / "out" / "status").write_text("0")

    monkeypatch.setattr(guest, "lacking", str)
    monkeypatch.setattr(guest, "prepare", prepare)
    monkeypatch.setattr(guest, "qemu", lambda *_: [])
    monkeypatch.setattr(guest, "boot", lambda *_: None)
    own, users = tmp_path / "own", tmp_path / "users"
    users.mkdir()
    (users / "file").write_text("mine")
    (tmp_path / "link").symlink_to(own)
    for keep in (own, own, tmp_path / "link"):
        assert guest.main(["--keep", str(keep), "--", "true"]) == 0
        assert {path.name for path in own.iterdir()} == {"new", MARK}
        (own / "old").touch()
    for keep in (users, users / "file"):
        assert guest.main(["--keep", str(keep), "--", "true"]) == guest.NO_GUEST
        assert f"{keep} has files of somebody else" in capsys.readouterr().err
    assert (users / "file").read_text() == "mine"
