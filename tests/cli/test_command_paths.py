# SPDX-License-Identifier: BSD-3-Clause
"""Every path on a command line is read or written, and checked as such before anything runs.

The options come from the parsers themselves: a new one is tested without being named here."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iogauge.cli import options, table
from iogauge.cli.main import main, parser_of
from iogauge.common import files
from tests.analysis_recorded import DATA, Recorded

TYPES = {options.in_path, options.in_file, options.out_file, options.out_folder}
COMMANDS = [command for command in table.COMMANDS if command.name != "doctor"]


@pytest.mark.parametrize("folder", [True, False])
def test_commands_at_once_take_different_names(tmp_path: Path, folder: bool) -> None:
    """Each makes what it takes: another one may have looked at the same moment."""
    (tmp_path / "app-2.replay").symlink_to("nowhere")
    ready = threading.Barrier(8)

    def take(_: int) -> Path:
        ready.wait()
        return options.unused(tmp_path / "app.replay", folder)

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(8)))
    names = {"app.replay", *(f"app-{number}.replay" for number in range(3, 10))}
    assert {path.name for path in taken} == names
    assert all(path.is_dir() == folder and path.exists() for path in taken)


def actions(kinds: set[object]) -> list[tuple[str, str]]:
    """The command and option (or name) of each argument of these types."""
    found = []
    for command in COMMANDS:
        for action in parser_of(command)._actions:
            if action.type in kinds:
                found.append((command.name, (action.option_strings or [action.dest])[-1]))
    return found


def refused(command: str, option: str, path: Path) -> str:
    """What is said of this path, of a command line that lacks all else."""
    parser = parser_of(table.BY_NAME[command])
    action = next(a for a in parser._actions if option in (*a.option_strings, a.dest))
    with pytest.raises(argparse.ArgumentError) as error:
        parser._get_values(action, [str(path)])
    assert str(path) in str(error.value)
    return str(error.value)


def taken(command: str, option: str, path: Path) -> None:
    parser = parser_of(table.BY_NAME[command])
    action = next(a for a in parser._actions if option in (*a.option_strings, a.dest))
    parser._get_values(action, [str(path)])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_path_is_marked_as_read_or_written(command: table.Command) -> None:
    """An argument that is made a Path by other means would not be checked."""
    for action in parser_of(command)._actions:
        assert action.type is not Path, (command.name, action.dest)
        is_path = isinstance(action.default, Path) or action.metavar in METAVARS
        if is_path and (command.name, action.dest) not in FREE:
            assert action.type in TYPES, (command.name, action.dest)


METAVARS = {"FILE", "FOLDER", "DIR", "PATH", "PROGRAM", "LOG", "REPORT"}
# A name inside of a log; on another machine; with the name of a stack in it.
FREE = {
    ("blame", "file"), ("replay", "only"), ("replay plan", "only"), ("run", "there"),
    ("run", "iokernel"), ("certify", "kernels"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "option"), actions({options.in_path, options.in_file}))
def test_an_input_that_never_ends_is_refused(command: str, option: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "found a pipe" in refused(command, option, pipe)
    assert "found a device" in refused(command, option, Path("/dev/zero"))
    (tmp_path / "link").symlink_to(pipe)
    assert "found a pipe" in refused(command, option, tmp_path / "link")


@pytest.mark.parametrize(("command", "option"), actions({options.out_file}))
def test_a_folder_is_no_file_to_write(command: str, option: str, tmp_path: Path) -> None:
    assert "found a folder" in refused(command, option, tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    assert "found a socket" in refused(command, option, tmp_path / "socket")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "new", tmp_path / "pipe", Path("/dev/stdout"), Path("/dev/null")):
        taken(command, option, path)
    with contextlib.suppress(PermissionError):  # only root makes one
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 0))
        assert "found a disk" in refused(command, option, tmp_path / "disk")
        with pytest.raises(files.CannotWrite, match="it is a disk"):
            files.write_whole(tmp_path / "disk", b"")


@pytest.mark.parametrize(("command", "option"), actions({options.out_folder}))
def test_what_is_no_folder_is_left_alone(command: str, option: str, tmp_path: Path) -> None:
    file, pipe, link = tmp_path / "file", tmp_path / "pipe", tmp_path / "link"
    file.write_text("kept")
    os.mkfifo(pipe)
    link.symlink_to(file)
    for path in (file, pipe, link, Path("/dev/null")):
        assert "expected a folder to write to" in refused(command, option, path)
    assert file.read_text() == "kept"
    link.unlink()
    link.symlink_to(tmp_path)
    for path in (tmp_path, link, tmp_path / "new"):
        taken(command, option, path)


# Of commands that write without measuring: what follows them to write with this option.
WRITES = {
    ("compare", "--html"): ["compare", "openmpi", "mpich", "--by", "stack", "--store", "STORE"],
    ("history", "--plot"): ["history", "--store", "STORE"],
    ("trace", "--html"): ["trace", "RUN", "--no-summary"],
    ("replay plan", "--out"): ["replay", "plan", "LOG"],
    ("replay plan", "--what-if"): ["replay", "plan", "LOG", "--out", "/dev/null"],
    ("site new", "--output"): ["site", "new", "here"],
    ("export", "--to"): ["export", "junit", "REPORT"],
    ("bundle make", "--to"): ["bundle", "make", "REPORT"],
    ("summary", "--html"): ["summary", "REPORT"],
    ("summary", "--png"): ["summary", "REPORT"],
    ("report", "--html"): ["report", "REPORT", "--store", "STORE"],
}
# These write through the same function (iogauge/common/files.py), after they have measured.
MEASURE = {
    ("certify", "--keep"), ("certify", "--page"), ("replay check", "--page"),
    ("replay like", "--out"), ("shrink", "--out"),
}  # fmt: skip


def test_each_option_that_writes_is_tried() -> None:
    assert {*WRITES, *MEASURE} == {*actions({options.out_file})}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("written", WRITES, ids=lambda words: " ".join(words))
def test_a_device_a_pipe_and_a_link_stay_what_they_are(
    written: tuple[str, str], tmp_path: Path
) -> None:
    assert written in actions({options.out_file})
    recorded = Recorded(tmp_path / "recorded")
    store, log = tmp_path / "store", tmp_path / "run"
    shutil.copytree(DATA / "darshan" / "mpich-collective-dxt", log)
    paths = {"REPORT": recorded.report, "STORE": store, "RUN": log, "LOG": log / "trace.darshan"}
    given = {word: str(path) for word, path in paths.items()}
    assert main(["store", "add", given["REPORT"], "--store", given["STORE"]]) == 0
    words = [*(given.get(word, word) for word in WRITES[written]), written[1]]
    end = ".py" if written[0] == "site new" else ".png"  # both are checked
    link, pipe, device = (tmp_path / f"{name}{end}" for name in ("link", "pipe", "device"))
    seen = list[bytes]()
    link.symlink_to("target")
    assert main([*words, str(link)]) in (0, 1)
    assert link.is_symlink() and (tmp_path / "target").stat().st_size
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main([*words, str(pipe)]) in (0, 1)
    reader.join(20)
    assert pipe.is_fifo() and seen and seen[0]
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        device.open("rb").close()
    except PermissionError:
        return
    assert main([*words, str(device)]) in (0, 1)
    assert device.is_char_device()


def test_a_session_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "recover", "NOSUCH", "--output", str(tmp_path)]) == 3
    assert "found no session NOSUCH" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["history --all", "compare openmpi mpich --by stack", "report"])
def test_a_damaged_store_is_no_success(
    words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store, recorded = tmp_path / "store", Recorded(tmp_path / "a")
    assert main(["store", "add", str(recorded.report), "--store", str(store)]) == 0
    (good,) = store.rglob("*.parquet")
    asked = [*words.split(), "--store", str(store), "--output", str(recorded.output)]
    assert main(asked) == 0
    good.with_name("broken.parquet").write_text("no Parquet")
    assert main(asked) == 3
    assert "broken.parquet" in capfd.readouterr().err


@pytest.mark.parametrize("words", ["blame . --examples -1", "run --rounds -1"])
def test_a_number_below_zero_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert "expected a whole number, 0 or more" in capsys.readouterr().err
