# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have. Defaults are looked up when a command is run."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.store import database as store
from iogauge.analysis.store import keys
from iogauge.analysis.store.database import Where
from iogauge.common import paths
from iogauge.common.text import plain_lines

if TYPE_CHECKING:
    import duckdb


_KINDS = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"), (stat.S_ISREG, "a file"),
)  # fmt: skip


def _kind(path: Path) -> str:
    """What stands there; empty where nothing does, or nobody may know."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return next(name for of_it, name in _KINDS if of_it(mode))


def _refuse(path: Path, found: str, right: str) -> None:
    raise argparse.ArgumentTypeError(f"{path}: expected {right}, found {found}")


class NeedsCheckoutError(AnalysisError):
    """An installed package reads results, and measures none."""


def need_checkout(command: str) -> None:
    """Raises NeedsCheckoutError."""
    if not paths.is_checkout():
        raise NeedsCheckoutError(
            f"{command} needs a checkout of iogauge: an installed package only reads results"
        )


def count(text: str) -> int:
    """A number of things: 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return int(text)


# Every path of a command line has one of these four types (tests/cli/test_command_paths.py).


def in_path(text: str) -> Path:
    """A file or folder to read. What may never end (a pipe, a device) is refused; that nothing is
    there is said by who reads it."""
    path = Path(text)
    if (found := _kind(path)) not in ("", "a file", "a folder"):
        _refuse(path, found, "a file")
    return path


def in_file(text: str) -> Path:
    """Likewise a file alone."""
    path = in_path(text)
    if (found := _kind(path)) == "a folder":
        _refuse(path, found, "a file")
    return path


def out_file(text: str) -> Path:
    """A file to write, by iogauge.common.files: pipes and devices are written to."""
    path = Path(text)
    if (found := _kind(path)) in ("a folder", "a socket"):
        _refuse(path, found, "a file to write")
    return path


def out_folder(text: str) -> Path:
    """A folder to write to, which may be missing."""
    path = Path(text)
    if (found := _kind(path)) not in ("", "a folder"):
        _refuse(path, found, "a folder to write to")
    return path


def add_output(parser: argparse.ArgumentParser) -> None:
    """The option --output."""
    parser.add_argument(
        "--output", type=in_path, default=paths.output(), metavar="DIR",
        help="folder of the sessions (default: IOGAUGE_OUTPUT, or output)",
    )  # fmt: skip


def add_store(parser: argparse.ArgumentParser) -> None:
    """The options --output and --store, of a command that uses the store."""
    add_output(parser)
    parser.add_argument(
        "--store", type=out_folder, metavar="DIR",
        help="folder of the store (default: IOGAUGE_STORE, or store in the output folder)",
    )  # fmt: skip


def store_of(args: argparse.Namespace) -> Path:
    """Where the store is: --store, else IOGAUGE_STORE, else in the output folder."""
    given = args.store or os.environ.get("IOGAUGE_STORE")
    return Path(given) if given else Path(args.output) / "store"


def connect(args: argparse.Namespace) -> duckdb.DuckDBPyConnection:
    """To the store; files of it that cannot be used are named on stderr, and the command ends with
    EXIT_DATA where it would have ended well."""

    def damaged(text: str) -> None:
        args.damaged = True
        say(text)

    return store.connect(store_of(args), damaged)


def add_where(parser: argparse.ArgumentParser) -> None:
    """The option --where."""
    parser.add_argument(
        "--where", action="append", default=[], metavar="KEY=VALUE[,VALUE]",
        help="only runs like this; KEY is a column (pattern, method, mode, stack, fs, scale, "
        "system, session, ...), a library (mpi=4.1, hdf5=1.14) or a test's parameter (layout, "
        "hint_set, ...); may be repeated",
    )  # fmt: skip


def where(args: argparse.Namespace, connection: duckdb.DuckDBPyConnection) -> Where:
    """What --where asks for. Raises UsageError for a word that is not KEY=VALUE, and for a key that
    there is not."""
    found = Where.parse(args.where)
    keys.check(connection, "--where", [word.partition("=")[0] for word in args.where])
    return found


def where_session(uuid: str) -> Where:
    """The runs of one session that ended well."""
    return Where().key("session", [uuid])


def say_written(path: Path) -> None:
    """Name a file that was written, on stderr: relative where it is below the folder one is in."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    say(f"wrote {shown}")


def say(text: str) -> None:
    """A line on stderr; names in it are others'."""
    print(plain_lines(text), file=sys.stderr)
