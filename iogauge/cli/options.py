# SPDX-License-Identifier: BSD-3-Clause
"""Options of several commands. Defaults are looked up when a command runs."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.analysis.errors import AnalysisError, NothingFoundError
from iogauge.analysis.store import database as store
from iogauge.analysis.store import keys
from iogauge.analysis.store.database import Where
from iogauge.common import paths
from iogauge.common.files import CannotWrite
from iogauge.common.run_folder import case_files, is_session, sessions
from iogauge.common.text import notice

if TYPE_CHECKING:
    import duckdb


CHARTS = ("altair", "vl_convert")  # of the extra of this name in pyproject.toml
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a disk"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISREG, "a file"),
)


@contextlib.contextmanager
def page_beside(asked: Path | None) -> Iterator[None]:
    """Writes a page that is left out without the extra, unless it is asked for."""
    try:
        yield
    except ModuleNotFoundError as error:
        if asked or error.name not in CHARTS:
            raise
        notice(f"no page: {paths.CHARTS}")


def need_checkout(command: str) -> None:
    if not paths.is_checkout():
        instead = f"in one, {paths.IN_CHECKOUT} {command}"
        raise AnalysisError(f"{command} needs a checkout of iogauge: {instead}")


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return int(text)


def setting(text: str) -> str:
    if not re.match(".+=", text):  # ReFrame would go on without it
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return text


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


# Every path of a command line has one of these four types (tests/cli/test_command_paths.py).


def in_path(text: str) -> Path:
    """A file to read; the reader reports a missing one. Refuses pipes and devices: no end."""
    return _checked(text, "a file", ("a file", "a folder"))


def in_file(text: str) -> Path:
    return _checked(text, "a file", ("a file",))


def out_file(text: str) -> Path:
    """A file to write with iogauge.common.files; may be a pipe or a device, but no disk."""
    return _checked(text, "a file to write", ("a file", "a pipe", "a device"))


def out_folder(text: str) -> Path:
    return _checked(text, "a folder to write to", ("a folder",))


def _checked(text: str, expected: str, allowed: tuple[str, ...]) -> Path:
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing there, or not permitted
        return path
    found = next(name for of_it, name in _KINDS if of_it(mode))
    if found not in allowed:
        raise argparse.ArgumentTypeError(f"{path}: expected {expected}, found {found}")
    return path


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=in_path, default=paths.output())


def report_of(args: argparse.Namespace) -> Path:
    return args.report or last_report(args.output)


def last_report(output: Path) -> Path:
    """The report of the last session. Says on stderr if a newer session began and left none."""
    from iogauge.analysis.session import loader  # here: only some commands need it

    report = loader.last_report(output)
    own = max(loader.folders(loader.read_report(report)["session_info"]))
    there = output / loader.REPORTS
    newer = [
        name
        for name in (sessions(output) if is_session(own) else ())
        # A dry run leaves no files of cases.
        if name > own
        and not (there / f"run-report-{name}.json").exists()
        and any(True for _ in case_files(output, name))
    ]
    if newer:
        notice(
            f"session {newer[-1]} is newer and has no report: it is running, or was killed; "
            "`iogauge store recover` makes a report of a killed one. Showing the session before"
        )
    return report


def add_store(parser: argparse.ArgumentParser) -> None:
    add_output(parser)
    parser.add_argument("--store", type=out_folder)


def store_of(args: argparse.Namespace) -> Path:
    given = args.store or os.environ.get("IOGAUGE_STORE")
    return Path(given) if given else Path(args.output) / "store"


def connect(args: argparse.Namespace) -> duckdb.DuckDBPyConnection:
    """Connect to the store. Unusable files are named, and a success then exits with EXIT_DATA."""

    def damaged(text: str) -> None:
        args.damaged = True
        notice(text)

    return store.connect(store_of(args), damaged)


def add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--where", action="append", default=[])


def where(args: argparse.Namespace, db: duckdb.DuckDBPyConnection) -> Where:
    """Parse it, and replace `session=last` by the session's name, as an accepted change must keep
    it."""
    from iogauge.analysis.judge.selection import sessions_named  # here: only some commands need it

    args.where = [sessions_named(db, word) for word in args.where]
    found = Where.parse(args.where)
    keys.check(db, "--where", [word.partition("=")[0] for word in args.where])
    return found


def unused(path: Path, folder: bool = False) -> Path:
    """`path`, or NAME-2: the first that is free, made now so that no other command takes it."""
    for number in itertools.count(1):
        one = path.with_stem(f"{path.stem}-{number}") if number > 1 else path
        try:
            one.mkdir() if folder else one.touch(exist_ok=False)
            return one
        except FileExistsError:
            continue
        except OSError as error:
            raise CannotWrite(error.errno, error.strerror, str(one)) from error
    raise AssertionError


def need(path: Path | None, expected: str) -> None:
    """Raises NothingFoundError for a given path that is not there."""
    if path and not path.exists():
        raise NothingFoundError(f"{path}: expected {expected}, found none")


def shown(path: Path) -> Path:
    return paths.below(Path.cwd(), path)


def say_written(path: Path) -> None:
    notice(f"wrote {shown(path)}")
