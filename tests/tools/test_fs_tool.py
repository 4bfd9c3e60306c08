# SPDX-License-Identifier: BSD-3-Clause
"""`make test-fs`: what it says of machines and cases, and that nothing stays behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from site_configs import testfs
from tools.mounted_fs import __main__ as test_fs
from tools.mounted_fs import report as fs_report
from tools.mounted_fs.kinds import Kind, Loop, Machine, Memory, Needs
from tools.mounted_fs.processes import CannotMount, run
from tools.mounted_fs.report import Case, Row
from tools.mounted_fs.session import of_claim
from tools.mounted_fs.table import KINDS, Known

ROOT = Path(__file__).parents[2]


class Bare(Machine):
    """A machine that has what it is given, and no more."""

    def __init__(self, *has: str) -> None:
        self.has = has

    def has_command(self, name: str) -> bool:
        return name in self.has

    def has_device(self, path: str) -> bool:
        return path in self.has

    def has_file_system(self, kind: str) -> bool:
        return kind in self.has


NEEDS = Needs((("mkfs.zfs", "zfsutils"),), devices=("/dev/zfs",), kernel=("zfs",))


@pytest.mark.parametrize(
    ("has", "reason"),
    [
        (("/dev/zfs", "zfs"), "mkfs.zfs is missing (Debian package zfsutils)"),
        (("mkfs.zfs", "zfs"), "no /dev/zfs"),
        (("mkfs.zfs", "/dev/zfs"), "the kernel has no zfs, and no module of it can be loaded"),
    ],
)
def test_what_a_machine_lacks_is_the_reason(has: tuple[str, ...], reason: str) -> None:
    assert NEEDS.lacking(Bare(*has)) == reason
    assert NEEDS.lacking(Bare("mkfs.zfs", "/dev/zfs", "zfs")) is None


def test_this_machine_has_proc_and_no_nonsense() -> None:
    assert Machine().has_file_system("proc")
    assert not Machine().has_file_system("nonsense")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_row_says_what_it_needs(kind: Kind) -> None:
    assert kind.how.needs.lacking(Bare())
    assert kind.local is isinstance(kind.how, Loop | Memory)  # `make test` starts no servers


def test_a_command_that_fails_is_quoted_in_one_line() -> None:
    with pytest.raises(CannotMount, match=r"^sh: last word$"):
        run("sh", "-c", "echo first; echo last word >&2; exit 3")
    with pytest.raises(CannotMount, match="no-such-command is not installed"):
        run("no-such-command")


# ------------------------------------------------------------ cases

KNOWN = (Known("^gl", "openmpi", "ordered", "lock", "a known bug"),)


def reported(folder: Path, result: str, verdict: str = "verified", **more: Any) -> dict[str, Any]:
    """A test case as ReFrame reports it, with its document."""
    document = {"verification": {"verdict": verdict}, "system": {"filesystem": {"type": "fuse.g"}}}
    (folder / "result.json").write_text(json.dumps(document))
    case = {"fs": "gl", "environ": "openmpi", "display_name": "S3d %call=ordered"}
    return {**case, "result": result, "outputdir": str(folder), "time_total": 2.0, **more}


def fate(case: dict[str, Any], mounted_as: str = "fuse.g", known: tuple[Known, ...] = ()) -> str:
    judged = fs_report.judge(case, mounted_as, known)
    return f"{judged.fate}: {judged.why}"


def test_a_case_is_verified_by_its_document(tmp_path: Path) -> None:
    assert fate(reported(tmp_path, "pass")) == "verified: "
    assert "it ran on 'fuse.g', not 'xfs'" in fate(reported(tmp_path, "pass"), "xfs")
    assert fate(reported(tmp_path, "pass", "not asked")).startswith("failed: it passed, but")
    case = reported(tmp_path, "pass")
    (tmp_path / "result.json").unlink()
    assert fate(case).startswith("failed: it passed, but its document cannot be read")


def test_a_failed_or_skipped_case_says_why(tmp_path: Path) -> None:
    assert fate(reported(tmp_path, "fail", fail_reason="no\n lock")) == "failed: no lock"
    assert fate(reported(tmp_path, "abort", fail_reason=None)) == "failed: "
    skipped = reported(tmp_path, "skip", skip_reason="no room")
    assert fate(skipped) == "skipped: no room"


def test_a_known_failure_is_expected_with_its_message_alone(tmp_path: Path) -> None:
    failed = reported(tmp_path, "fail", fail_reason="no lock")
    assert fate(failed, known=KNOWN) == "expected: no lock [known: a known bug]"
    other = reported(tmp_path, "fail", fail_reason="crashed")
    assert fate(other, known=KNOWN) == "failed: crashed"
    elsewhere = {**failed, "environ": "mpich"}
    assert fate(elsewhere, known=KNOWN) == "failed: no lock"


def test_a_known_failure_that_passes_is_noticed(tmp_path: Path) -> None:
    assert fate(reported(tmp_path, "pass"), known=KNOWN).startswith("fixed: ")
    row = Row("gl", "fuse.g", cases=[case(fs_report.VERIFIED), case(fs_report.FIXED)])
    assert fs_report.exit_status([row]) == 1


def test_cases_go_to_their_file_system_and_failed_builds_are_told(tmp_path: Path) -> None:
    build = {"fixture": True, "result": "fail", "display_name": "Build", "fail_reason": "no cc"}
    good = {**reported(tmp_path, "pass"), "fixture": False}
    row = Row("gl", "fuse.g")
    problems = fs_report.add_cases([row], {"runs": [{"testcases": [build, good]}]}, ())
    assert problems == ["Build: no cc"]
    assert [found.fate for found in row.cases] == ["verified"]
    assert row.seconds == 2.0


# ------------------------------------------------------------ table and status


def case(fate: str, why: str = "") -> Case:
    return Case("gl", "openmpi", "S3d", fate, why, 1.0)


def test_the_table_has_all_file_systems_and_each_reason() -> None:
    rows = [
        Row("gl", "fuse.g", cases=[case("verified"), case("failed", "wrong byte")]),
        Row("xfs", "xfs", reason="no /dev/loop-control"),
    ]
    text = fs_report.table(rows)
    assert [line.split()[:3] for line in text.splitlines()[2:4]] == [
        ["gl", "fuse.g", "yes"],
        ["xfs", "xfs", "no"],
    ]
    assert "failed: gl: openmpi: S3d: wrong byte" in text
    assert "not mounted: xfs: no /dev/loop-control" in text


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([Row("a", "a", cases=[case("verified")])], 0),
        ([Row("a", "a", cases=[case("verified"), case("expected")])], 0),
        ([Row("a", "a", cases=[case("verified")]), Row("b", "b", reason="no b")], 0),
        ([Row("a", "a", cases=[case("verified"), case("failed")])], 1),
        ([Row("a", "a", cases=[case("verified")], trouble=["busy"])], 1),
        ([Row("a", "a", cases=[case("skipped")])], 1),
        ([Row("a", "a")], 1),
        ([Row("b", "b", reason="no b")], 1),
        ([], 1),
    ],
)
def test_the_exit_status(rows: list[Row], status: int) -> None:
    assert fs_report.exit_status(rows) == status


def test_names_and_scale_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert test_fs.parse(["xfs", "tmpfs", "xfs"]) == test_fs.Asked(["xfs", "tmpfs"])
    assert test_fs.parse(["--local"]).names == ["ext4", "xfs", "btrfs", "tmpfs"]
    assert {"moosefs", "nfs"} <= set(test_fs.parse([]).names)
    with pytest.raises(SystemExit):
        test_fs.parse(["xsf"])
    assert "unknown file system 'xsf'; known are ext4" in capsys.readouterr().err


def test_the_guest_is_asked_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine's kernel has stays here, unless all of it is to be in one session."""
    asked = ["--scale", "laptop", "--claim", "C14", "tmpfs", "nfs", "--", "-p", "mpich"]
    found: dict[str, list[str]] = {}

    def here(its: test_fs.Asked, output: Path) -> int:
        found["here"] = its.names
        return 0

    def away(kinds: list[Kind], words: Any, output: Path) -> int:
        found["away"] = [kind.name for kind in kinds]
        its = test_fs.parse(words(found["away"]))
        assert (its.scale, its.tests, its.claim, its.more) == (
            *("laptop", "few", "C14"),
            ["-p", "mpich"],
        )
        return 1

    monkeypatch.setattr(test_fs, "run_here", here)
    monkeypatch.setattr(test_fs.in_guest, "run", away)
    monkeypatch.delenv(test_fs.in_guest.VARIABLE, raising=False)
    assert test_fs.main(asked) == 1
    assert found == {"here": ["tmpfs"], "away": ["nfs"]}
    assert test_fs.main(["--guest", *asked]) == 1
    assert found["away"] == ["tmpfs", "nfs"]
    # Nothing to start a guest for: no failure beside what was mounted here.
    monkeypatch.setattr(test_fs.in_guest, "run", lambda *_: None)
    assert [test_fs.main(asked), test_fs.main(["nfs"])] == [0, 1]


def test_a_claim_is_run_at_the_scale_that_was_asked_for() -> None:
    """C14 says `laptop` (references/claims.yaml), which emulated processors take hours for."""
    words = of_claim("C14", "smoke")
    assert "CgnsZoneProcesses.*smoke" in words and "laptop" not in " ".join(words)


def test_without_namespaces_nothing_is_mounted_and_each_row_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(test_fs, "WAYS", (("--no-such-namespace",),))
    assert test_fs.main(["--local"]) == 1
    told = capsys.readouterr().out
    for name in ("ext4", "xfs", "btrfs", "tmpfs"):
        assert f"not mounted: {name}: this machine gives no namespaces" in told
    assert "no-such-namespace" in told


# ------------------------------------------------------------ the site


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "has no object `filesystems`"),
        ('{"filesystems": {"xfs": {"path": "/x"}}}', "xfs has no text `mounted_as`"),
    ],
)
def test_a_wrong_list_of_mounts_is_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "testfs.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=reason) as caught:
        testfs.mounted(str(file))
    assert str(file) in str(caught.value)


def test_the_site_has_what_was_mounted(tmp_path: Path) -> None:
    file = tmp_path / "testfs.json"
    entry = {"path": str(tmp_path), "mounted_as": "xfs", "prefix": "ufs:"}
    file.write_text(json.dumps({"filesystems": {"xfs": entry}}))
    assert testfs.mounted(str(file))["xfs"].items() >= entry.items()
    assert testfs.mounted(None) == {}
    with pytest.raises(ValueError, match="No such file"):
        testfs.mounted(str(tmp_path / "none.json"))


# ------------------------------------------------------------ for real


def mounts_here() -> bool:
    try:
        plain = "--user" not in test_fs.namespaces()
    except CannotMount:
        return False
    return plain and Path("/dev/loop0").exists()


needs_namespaces = pytest.mark.skipif(
    not mounts_here(),
    reason="mounts for real: needs root, namespaces and loop devices",
)


def loops(folder: Path) -> list[str]:
    """Loop devices of images below a folder; they are seen from outside the namespaces too."""
    return [left for left in test_fs.left_behind(folder) if left.startswith("loop device")]


def started(folder: Path) -> subprocess.Popen[str]:
    """`test_fs ext4`, once it has mounted."""
    tool = subprocess.Popen(
        [sys.executable, "-m", "tools.mounted_fs", "ext4"],
        cwd=ROOT,
        env={**os.environ, "IOGAUGE_OUTPUT": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tool.stdout
    for line in tool.stdout:
        if line.startswith("running the tests"):
            break
    return tool


@needs_namespaces
def test_a_stopped_session_unmounts(tmp_path: Path) -> None:
    tool = started(tmp_path)
    assert loops(tmp_path)
    time.sleep(1)
    tool.send_signal(signal.SIGTERM)
    text, _ = tool.communicate(timeout=60)
    assert tool.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; unmounting" in text
    assert test_fs.left_behind(tmp_path) == []
    assert not list((tmp_path / "test-fs").glob("work-*"))


@needs_namespaces
def test_a_killed_session_is_cleaned_up_by_the_kernel_and_the_next_one(tmp_path: Path) -> None:
    tool = started(tmp_path)
    assert loops(tmp_path)
    tool.kill()
    tool.communicate(timeout=60)
    (left,) = (tmp_path / "test-fs").glob("work-*")
    test_fs.remove(left)  # it waits for the loop device to go, and fails where it stays
    assert not left.exists()
