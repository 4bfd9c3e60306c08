# SPDX-License-Identifier: BSD-3-Clause
"""The bundle's tar file: plain files in the oldest tar format (ustar), and nothing else.

Any `tar` reads it. Its content is untrusted: links, folders, paths that lead out, duplicates,
excessive sizes and trailing bytes are refused. Python's reader would follow extensions.
"""

import re
import tarfile
from pathlib import Path
from typing import BinaryIO

from iogauge.common.text import one_line

from ..errors import AnalysisError

BLOCK = tarfile.BLOCKSIZE
MOST_FILES = 200_000
MOST_BYTES = 2**34  # of all files
LARGEST = 2**30  # of one
CHUNK = 2**20
# runs/0007/result.json, sites/local.yaml, locks/run.lock, MANIFEST
NAME = re.compile(r"(?:(?:runs/\d{4,6}|sites|locks)/)?[A-Za-z0-9_][A-Za-z0-9_.+-]{0,79}")


class BadBundleError(AnalysisError):
    """The file is not a bundle, or holds what no bundle may hold."""


def write(folder: Path, names: list[str], target: BinaryIO) -> None:
    """Pack the files `names` of `folder`, in this order. The same files give the same bytes."""
    total = 0
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.USTAR_FORMAT) as archive:
        for number, name in enumerate(names, 1):
            entry = tarfile.TarInfo(name)
            entry.size = (folder / name).stat().st_size
            total += entry.size
            _check(folder, entry, number, total)
            with (folder / name).open("rb") as source:
                archive.addfile(entry, source)


def extract(path: Path, folder: Path) -> list[str]:
    """Unpack all files of a bundle into an empty folder; their names. Raises BadBundleError."""
    names: dict[str, None] = {}
    total = 0
    try:
        with path.open("rb") as source:
            while (block := _block(path, source)) != bytes(BLOCK):
                entry = _entry(path, block)
                total += entry.size
                if entry.name in names:
                    raise BadBundleError(f"{path}: {entry.name} appears twice")
                names[entry.name] = None
                _check(path, entry, len(names), total)
                _copy(path, source, entry, folder / entry.name)
            rest = source.read(tarfile.RECORDSIZE + 1)
            if len(rest) > tarfile.RECORDSIZE or rest.strip(b"\0"):
                raise BadBundleError(f"{path}: data after its end")
    except OSError as error:
        raise BadBundleError(f"{path}: cannot be read: {error.strerror}") from None
    return list(names)


def _block(path: Path, source: BinaryIO) -> bytes:
    block = source.read(BLOCK)
    if len(block) < BLOCK:
        raise BadBundleError(f"{path}: not a tar file, or truncated")
    return block


def _entry(path: Path, block: bytes) -> tarfile.TarInfo:
    try:
        entry = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.TarError, ValueError) as error:
        raise BadBundleError(f"{path}: not a tar file, or damaged: {error}") from None
    if entry.type != tarfile.REGTYPE:
        raise BadBundleError(f"{path}: {one_line(repr(entry.name), 80)} is not a plain file")
    return entry


def _check(path: Path, entry: tarfile.TarInfo, number: int, total: int) -> None:
    """What limits a bundle's files. `number` and `total`: of files and bytes up to this one."""
    shown = one_line(repr(entry.name), 80)
    if not NAME.fullmatch(entry.name):
        raise BadBundleError(f"{path}: {shown} is not a valid file name in a bundle")
    if not 0 <= entry.size <= LARGEST:
        raise BadBundleError(f"{path}: {shown} has {entry.size} bytes; expected at most {LARGEST}")
    if number > MOST_FILES or total > MOST_BYTES:
        raise BadBundleError(f"{path}: more than {MOST_FILES} files or {MOST_BYTES} bytes")


def _copy(path: Path, source: BinaryIO, entry: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        left = entry.size
        while left:
            some = source.read(min(left, CHUNK))
            if not some:
                raise BadBundleError(f"{path}: truncated within {entry.name}")
            file.write(some)
            left -= len(some)
    padding = -entry.size % BLOCK
    if len(source.read(padding)) < padding:
        raise BadBundleError(f"{path}: truncated after {entry.name}")
