# SPDX-License-Identifier: BSD-3-Clause
"""`make test-fs`: what it says of machines and cases, and that nothing stays behind it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.session.model import Result, Run, Status
from site_configs import local
from tests.mounted_fs import __main__ as test_fs
from tests.mounted_fs import report as fs_report
from tests.mounted_fs import site
from tests.mounted_fs.kinds import Kind, Loop, Machine, Memory, Needs
from tests.mounted_fs.processes import CannotMount, run
from tests.mounted_fs.report import Row
from tests.mounted_fs.session import Options, of_claim
from tests.mounted_fs.table import KINDS

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


NEEDS = Needs(("mkfs.xfs",), devices=("/dev/zfs",), kernel=("zfs",))


@pytest.mark.parametrize(
    ("has", "reason"),
    [
        (
            ("/dev/zfs", "zfs"),
            "mkfs.xfs is missing (environments/debian/setup.sh --test --fs installs it)",
        ),
        (("mkfs.xfs", "zfs"), "no /dev/zfs"),
        (("mkfs.xfs", "/dev/zfs"), "the kernel has no zfs, and no module of it can be loaded"),
    ],
)
def test_what_a_machine_lacks_is_the_reason(has: tuple[str, ...], reason: str) -> None:
    assert NEEDS.lacking(Bare(*has)) == reason
    assert NEEDS.lacking(Bare("mkfs.xfs", "/dev/zfs", "zfs")) is None


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


def run_of(
    status: Status = "ok", verdict: str = "verified", fs: str = "gl", reason: str = ""
) -> Run:
    """A case as the analysis reads it, on `fuse.g`."""
    result = Result(
        *(None, "s3d", "mpiio", "ordered", False, 2, 1, 2, ("here",), "6.1", "fuse.g"),
        *("cold", 1, verdict, None, "iokernel", {}, ()),
    )
    return Run(
        *("session", "S3d", "S3d %call=ordered", "", "testfs", "default", "openmpi", fs, "s3d"),
        *("mpiio", "ordered", "smoke", 2, status, reason, False),
        *(result if status == "ok" else None, None, None),
    )


def fate(run: Run, mounted_as: str = "fuse.g") -> str:
    return ": ".join(Row("gl", mounted_as).fate(run))


def test_a_case_is_verified_by_its_document() -> None:
    assert fate(run_of()) == "verified: "
    assert "it ran on 'fuse.g'" in fate(run_of(), "xfs")
    assert fate(run_of(verdict="not asked")).startswith("failed: it passed, but")


def test_a_failed_or_skipped_case_says_why() -> None:
    assert fate(run_of("failed", reason="no lock")) == "failed: no lock"
    assert fate(run_of("skipped", reason="no room")) == "skipped: no room"


def test_cases_go_to_their_file_system_and_failed_builds_are_told() -> None:
    row = Row("gl", "fuse.g")
    good = run_of()
    assert fs_report.add_runs([row], [run_of("failed", fs="", reason="no cc"), good]) == [
        "S3d %call=ordered: no cc"
    ]
    assert row.runs == [good]


# ------------------------------------------------------------ table and status


def row_of(*runs: Run, **more: Any) -> Row:
    return Row("gl", "fuse.g", runs=list(runs), **more)


def test_the_table_has_all_file_systems_and_each_reason() -> None:
    rows = [
        row_of(run_of(), run_of("failed", reason="wrong byte"), run_of("skipped", reason="small")),
        Row("xfs", "xfs", reason="no /dev/loop-control"),
    ]
    text = fs_report.table(rows)
    assert [line.strip("| ").split()[:10:2] for line in text.splitlines()[2:4]] == [
        ["gl", "fuse.g", "yes", "3", "1"],
        ["xfs", "xfs", "no", "0", "0"],
    ]
    assert "failed: gl: openmpi: S3d %call=ordered: wrong byte" in text
    assert "skipped: gl: 1 cases: small" in text
    assert "not mounted: xfs: no /dev/loop-control" in text


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([row_of(run_of())], 0),
        ([row_of(run_of()), Row("b", "b", reason="no b")], 0),
        ([row_of(run_of(), run_of("failed"))], 1),
        ([row_of(run_of(), trouble=["busy"])], 1),
        ([row_of(run_of("skipped"))], 1),
        ([row_of()], 1),
        ([Row("b", "b", reason="no b")], 1),
        ([], 1),
    ],
)
def test_the_exit_status(rows: list[Row], status: int) -> None:
    assert fs_report.exit_status(rows) == status


def test_names_and_scale_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert test_fs.parse(["xfs", "tmpfs", "xfs"]) == Options(["xfs", "tmpfs"])
    assert test_fs.parse(["--local"]).names == ["ext4", "xfs", "btrfs", "tmpfs"]
    assert {"moosefs", "nfs"} <= set(test_fs.parse([]).names)
    with pytest.raises(SystemExit):
        test_fs.parse(["xsf"])
    assert "unknown file system 'xsf'; known are ext4" in capsys.readouterr().err


def test_the_guest_is_asked_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine's kernel has stays here, unless all of it is to be in one session."""
    asked = ["--scale", "laptop", "--claim", "C14", "tmpfs", "nfs", "--", "-p", "mpich"]
    found: dict[str, list[str]] = {}

    def here(its: Options, output: Path) -> int:
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
    monkeypatch.setattr(test_fs, "UNSHARE", (("--no-such-namespace",),))
    assert test_fs.main(["--local"]) == 1
    told = capsys.readouterr().out
    for name in ("ext4", "xfs", "btrfs", "tmpfs"):
        assert f"not mounted: {name}: this machine gives no namespaces" in told
    assert "no-such-namespace" in told


# ------------------------------------------------------------ the site


def test_the_site_has_what_was_mounted(tmp_path: Path) -> None:
    entry = {"path": str(tmp_path), "mounted_as": "xfs", "prefix": "ufs:"}
    made = site.site({"xfs": entry}, "/builds")
    (partition,) = made["systems"][0]["partitions"]
    assert partition["extras"]["filesystems"]["xfs"].items() >= entry.items()
    for environ in made["environments"]:
        assert environ["extras"]["iokernel"] == f"/builds/{environ['name']}/iokernel"
    assert site.site({"xfs": entry}, "")["environments"] == local.site_configuration["environments"]


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
        [sys.executable, "-m", "tests.mounted_fs", "ext4"],
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
    text, _ = tool.communicate()
    assert tool.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; unmounting" in text
    assert test_fs.left_behind(tmp_path) == []
    assert not list((tmp_path / "test-fs").glob("work-*"))


@needs_namespaces
def test_a_killed_session_is_cleaned_up_by_the_kernel_and_the_next_one(tmp_path: Path) -> None:
    tool = started(tmp_path)
    assert loops(tmp_path)
    tool.kill()
    tool.communicate()
    (left,) = (tmp_path / "test-fs").glob("work-*")
    test_fs.remove(left)  # it waits for the loop device to go, and fails where it stays
    assert not left.exists()


def test_only_a_folder_of_its_own_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(test_fs, "namespaces", list)
    monkeypatch.setattr(test_fs, "run_session", lambda *_: 0)
    asked = Options(["tmpfs"], "smoke", "", False, "", [])
    users, own = tmp_path / "users", tmp_path / "own"
    for _ in range(2):  # new, and its own
        assert test_fs.run_here(asked, own) == 0
        (own / "results").mkdir()
    for folder in (users, own / "results"):
        folder.mkdir(exist_ok=True)
        (folder / "file").write_text("mine")
    assert test_fs.run_here(asked, own) == 0 and not (own / "results").exists()
    (users / "data").mkdir()
    assert test_fs.run_here(asked, users) == 1
    assert f"{users} has files of somebody else: name a new folder" in capsys.readouterr().out
    assert {path.name for path in users.iterdir()} == {"data", "file"}
