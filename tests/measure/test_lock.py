# SPDX-License-Identifier: BSD-3-Clause
"""One session measures at a time, and what killed jobs left in a file system is removed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.errors import EXIT_DATA
from iogauge.cli.main import main
from iogauge.common import lock, processes
from reframe_tests.machine import leftovers

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from iogauge.common import lock, processes
paths = [Path(path) for path in sys.argv[2:]]
with lock.measuring(sys.argv[1], paths, lambda text: print(text, flush=True)):
    print("held", flush=True)
    sys.stdin.read()
"""  # fmt: skip


def hold(name: str, *paths: Path, **more: str) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if key != lock.ESCAPE}
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, name, *map(str, paths)],
        cwd=ROOT, env={**kept, **more}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_second_one_says_who_measures_and_waits(tmp_path: Path) -> None:
    paths = tmp_path / "output" / "lock", tmp_path / "machine"
    first = hold("make run", *paths)
    assert line(first) == "held"
    second = hold("iogauge run", paths[1])
    said = line(second)
    for part in ("make run", str(first.pid), socket.gethostname(), "since 2", lock.ESCAPE):
        assert part in said
    assert second.poll() is None
    first.kill()  # a lock ends with its process, however that ends
    assert line(second) == "held"
    second.communicate("")
    first.communicate()


def test_the_wait_has_an_end_and_says_who_measures_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(lock.LIMIT, "1")
    monkeypatch.delenv(lock.ESCAPE, raising=False)
    monkeypatch.setenv("IOGAUGE_OUTPUT", str(tmp_path))
    own = tmp_path / lock.NAME
    first = hold("make run", own)
    assert line(first) == "held"
    assert main(["tune", "--pattern", "s3d"]) == EXIT_DATA
    *_, said, last = capsys.readouterr().err.splitlines()
    for text in (said, last):
        for part in (str(own), "make run", str(first.pid), socket.gethostname(), "since 2"):
            assert part in text
    assert "1 s at most" in said and "waited 1 s" in last and lock.LIMIT in last
    monkeypatch.setenv(lock.LIMIT, "1h")
    assert main(["tune", "--pattern", "s3d"]) == EXIT_DATA
    assert f"{lock.LIMIT}: '1h': expected seconds" in capsys.readouterr().err
    first.communicate("")


def test_a_build_does_not_wait_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even where sessions may measure at the same time."""
    monkeypatch.setenv(lock.LIMIT, "1")
    monkeypatch.setenv(lock.ESCAPE, "1")
    first = hold("a build", tmp_path / "folder.lock")
    assert line(first) == "held"
    assert main(["build", "--dir", str(tmp_path / "folder")]) == EXIT_DATA
    for text in capsys.readouterr().err.splitlines():
        assert "a build" in text and str(first.pid) in text and lock.ESCAPE not in text
    assert not (tmp_path / "folder").exists()
    first.communicate("")


def test_the_next_one_that_is_waited_for_is_named_too(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = hold("one", path)
    assert line(first) == "held"
    handle = os.open(path, os.O_RDWR)
    second = hold("two", path)
    assert line(second).startswith("waiting for one, ")
    os.pwrite(handle, b"three", 0)
    assert line(second).startswith("waiting for three")
    os.close(handle)
    first.communicate("")
    second.communicate("")


def test_a_moment_is_not_spoken_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = hold("one", tmp_path / "lock")
    assert line(first) == "held"
    monkeypatch.setattr(lock.time, "sleep", lambda _: first.communicate(""))
    handle = os.open(tmp_path / "lock", os.O_RDWR)
    said: list[str] = []
    assert lock.wait(handle, tmp_path / "lock", said.append) and not said
    os.close(handle)


def test_other_places_do_not_wait_and_nobody_has_to(tmp_path: Path) -> None:
    first = hold("one", tmp_path / "a")
    assert line(first) == "held"
    beside = hold("two", tmp_path / "b")
    assert line(beside) == "held"
    anyway = hold("three", tmp_path / "a", **{lock.ESCAPE: "1"})
    assert line(anyway) == "held"
    for process in (first, beside, anyway):
        process.communicate("")


def test_a_lock_that_cannot_be_made_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    free = hold("one", tmp_path / "link", Path("/proc/none/lock"))
    assert line(free) == "held"
    free.communicate("")
    assert not (tmp_path / "target").exists()


def test_the_next_one_waits_until_the_jobs_of_a_killed_one_have_ended(tmp_path: Path) -> None:
    """One that ignores SIGTERM: the guard, which has the lock's file, takes its time with it."""
    killed = """
import os, subprocess, sys
from pathlib import Path
from iogauge.common import guard, lock
with lock.measuring("killed", [Path(sys.argv[1])]) as handles:
    os.environ[guard.HOLD] = ",".join(map(str, handles))
    watch = guard.Guard(15, 1)
    job = subprocess.Popen(["bash", "-c", "trap '' TERM; echo ready >&2; sleep 1000"],
                           start_new_session=True, stderr=subprocess.PIPE, stdout=2)
    job.stderr.readline()
    watch.watch(job.pid)
    print(job.pid, flush=True)
    sys.stdin.read()
"""
    first = subprocess.Popen(
        [sys.executable, "-c", killed, str(tmp_path / "lock")],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    job = int(line(first))
    second = hold("next", tmp_path / "lock")
    assert line(second).startswith("waiting for killed, process")
    first.kill()
    assert line(second) == "held"
    assert not processes.of_session(job)
    second.communicate("")
    first.communicate()


NAMESAKE = f"{socket.gethostname()}/0123456789ab"  # another machine


@pytest.mark.parametrize("text", ["", "uninitialized\n", None])
def test_without_an_identity_another_boot_may_be_another_machine(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MACHINE", tmp_path / "machine-id")
    if text is not None:
        (tmp_path / "machine-id").write_text(text)
    mine = processes.identity(os.getpid())
    host, number, _, boot, space = mine.split()
    assert processes.is_gone(mine) is False
    assert processes.is_gone(f"{host} {number} 1 {boot} {space}") is True
    assert processes.is_gone(f"{host} {number} 1 another {space}") is None


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, False),
        ({"number": "4194305"}, True),
        ({"began": "1"}, True),
        ({"boot": "another"}, True),
        ({"host": "elsewhere"}, None),
        ({"host": NAMESAKE}, None),
        ({"host": NAMESAKE, "boot": "another"}, None),
        ({"host": socket.gethostname(), "boot": "another"}, None),  # of 0.3 and older
        ({"space": "pid:[1]"}, None),
        ({"space": "pid:[1]", "boot": "another"}, None),  # another container of this name and image
        ({"number": "-1"}, None),
        ({"number": "../../self"}, None),
        ({"number": ""}, None),
    ],
)
def test_who_is_gone(
    change: dict[str, str], gone: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "machine-id").write_text(f"{'a1' * 16}\n")
    monkeypatch.setattr(processes, "MACHINE", tmp_path / "machine-id")
    words = owner(os.getpid(), **change).rpartition(" ")[0]
    assert processes.is_gone(words) is gone


# ---------------------------------------------------------------- what killed jobs left


def left(place: Path, name: str, marker: str | None) -> Path:
    folder = place / name
    folder.mkdir()
    (folder / "data").write_bytes(b"\1" * 2**20)
    if marker is not None:
        (folder / leftovers.MARKER).write_text(marker + "\n")
    return folder


def owner(pid: int, job: str = "-", **other: str) -> str:
    """What a job's script writes; `other`: words that are not this process's."""
    names = ("host", "number", "began", "boot", "space")
    words = dict(zip(names, processes.identity(pid).split(), strict=True))
    return " ".join([*{**words, **other}.values(), job])


def dead() -> str:
    """A process that was, and is no more."""
    process = subprocess.Popen(["sleep", "100"])
    said = owner(process.pid)
    process.kill()
    process.wait()
    return said


def test_what_a_dead_job_left_is_removed_and_said(tmp_path: Path) -> None:
    gone = left(tmp_path, "iogauge.abcDEF12", dead())
    (said,) = leftovers.remove(tmp_path)
    assert str(gone) in said and "1.0 MiB" in said
    assert not gone.exists()
    assert leftovers.remove(tmp_path) == []


def test_another_boot_and_a_process_of_the_same_number_are_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "NO_MACHINE", "known")  # as most machines are
    left(tmp_path, "iogauge.aaaaaaa1", owner(os.getpid(), boot="another"))
    left(tmp_path, "iogauge.aaaaaaa2", owner(os.getpid(), began="1"))
    assert len(leftovers.remove(tmp_path)) == 2


@pytest.mark.parametrize("what", ["alive", "no marker", "other name", "nonsense", "long", "short"])
def test_what_is_not_ours_or_not_dead_stays(tmp_path: Path, what: str) -> None:
    marker = {
        "alive": owner(os.getpid()),
        "no marker": None,
        "other name": dead(),
        "nonsense": "-1 / * .. / -",
        "long": dead() + " more",
        "short": dead().rpartition(" ")[0],
    }[what]
    name = "iogauge.abcDEF123" if what == "other name" else "iogauge.abcDEF12"
    folder = left(tmp_path, name, marker)
    assert leftovers.remove(tmp_path) == []
    assert (folder / "data").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"host": "elsewhere.example"},
        {"host": NAMESAKE, "boot": "another"},
        {"space": "pid:[1]"},
    ],
)
def test_of_another_machine_or_container_nothing_is_removed_but_named(
    tmp_path: Path, other: dict[str, str]
) -> None:
    folder = left(tmp_path, "iogauge.abcDEF12", owner(os.getpid(), "4711", began="1", **other))
    (said,) = leftovers.remove(tmp_path)
    assert str(folder) in said and "job 4711" in said and "may still use it" in said
    assert "/0123" not in said
    assert (folder / "data").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_stays(tmp_path: Path) -> None:
    folder = left(tmp_path, "iogauge.abcDEF12", dead())
    os.chown(folder, 12345, 12345)
    assert leftovers.remove(tmp_path) == []
    assert (folder / "data").exists()


def test_a_removal_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    folder = left(tmp_path, "iogauge.abcDEF12", dead())
    (folder / "a" / "b").mkdir(parents=True)
    deep = folder.joinpath(*["d"] * (leftovers.DEPTH + 1))
    deep.mkdir(parents=True)
    (said,) = leftovers.remove(tmp_path)
    assert "cannot be removed" in said and (folder / leftovers.MARKER).exists()
    while deep != folder:  # somebody helps
        deep.rmdir()
        deep = deep.parent
    (said,) = leftovers.remove(tmp_path)
    assert said.startswith("removed") and not folder.exists()


def test_a_folder_that_is_swapped_for_a_link_meanwhile_keeps_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each moment between two calls of the removal."""
    real = {name: getattr(os, name) for name in ("open", "unlink", "rmdir", "scandir")}
    for moment in range(12):
        place = tmp_path / str(moment)
        (place / "fs").mkdir(parents=True)
        target = left(place, "target", dead())
        folder = left(place / "fs", "iogauge.abcDEF12", dead())
        calls = iter(range(100))

        def swap(folder: Path = folder, target: Path = target) -> None:
            folder.rename(folder.with_name("moved"))
            folder.symlink_to(target)

        def wrapped(name: str, moment: int = moment, calls: Any = calls) -> Callable[..., Any]:
            def call(*args: Any, **more: Any) -> Any:
                if next(calls) == moment:
                    swap()
                return real[name](*args, **more)

            return call

        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(leftovers.os, name, wrapped(name))
            leftovers.remove(place / "fs")
        assert (target / "data").exists() and (target / leftovers.MARKER).exists()


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "fs").mkdir()
    target = left(tmp_path, "iogauge.target01", dead())
    (tmp_path / "fs" / "iogauge.abcDEF12").symlink_to(target)
    inner = left(tmp_path / "fs", "iogauge.abcDEF13", dead())
    (inner / "away").symlink_to(target)
    marked = left(tmp_path / "fs", "iogauge.abcDEF14", None)
    (marked / leftovers.MARKER).symlink_to(target / leftovers.MARKER)
    (said,) = leftovers.remove(tmp_path / "fs")
    assert "abcDEF13" in said
    assert (target / "data").exists() and marked.exists()


def test_a_place_that_is_not_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert leftovers.remove(tmp_path / "none") == []


@pytest.mark.parametrize("identity", ["", "a1" * 16, "a1" * 16 + "\n", "uninitialized\n"])
def test_the_jobs_script_says_whose_its_folder_is(
    identity: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines of templates/job.sh.j2, run."""
    tmp_path, machine = tmp_path_factory.mktemp("fs"), tmp_path_factory.mktemp("etc") / "id"
    machine.write_text(identity)
    monkeypatch.setattr(processes, "MACHINE", machine)
    text = (ROOT / "templates" / "job.sh.j2").read_text().replace("/etc/machine-id", str(machine))
    begin, end = text.index("machine=$("), text.index("{% endblock run_directory %}")
    script = f"file_system={tmp_path}\n{text[begin:end]}"
    alive = "echo started; read -r _; exit 0"
    with subprocess.Popen(
        ["bash", "-c", f"set -eu -o pipefail\n{script}\n{alive}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as job:  # fmt: skip
        assert line(job) == "started"
        (folder,) = tmp_path.iterdir()
        assert leftovers.remove(tmp_path) == []
        job.kill()
        job.wait()
    assert len(leftovers.remove(tmp_path)) == 1 and not folder.exists()
