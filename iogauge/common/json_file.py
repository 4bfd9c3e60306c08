# SPDX-License-Identifier: BSD-3-Clause
"""JSON, written and read: the result can be walked, counted and stored, whatever the file holds.

Python's own reader accepts NaN, numbers of any length, and nesting until its stack overflows.
"""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

from .files import write_whole

MOST_BYTES = 2**28
DEEPEST = 64  # nested lists and objects
NESTED = (dict, list)
DIGITS = 300  # of an integer that still converts to a float


class Unreadable(Exception):
    """The file holds no JSON; the text says why in one line, without the file's name."""


def read(path: Path, what: str = "JSON document") -> Any:
    """The JSON in `path`. Raises Unreadable."""
    return parse(text(path, what), what)


def lines(path: Path) -> list[Any]:
    """One value of each line, but for a line that a kill has cut. Raises Unreadable."""
    found = []
    for line in text(path).splitlines():
        with suppress(Unreadable):
            found.append(parse(line))
    return found


def text(path: Path, what: str = "JSON document") -> str:
    """The text in `path`, if it is not too large. Raises Unreadable."""
    try:
        if path.exists() and not path.is_file():
            raise Unreadable(f"no {what}: it is not a file")
        if path.stat().st_size > MOST_BYTES:
            raise Unreadable(f"more than {MOST_BYTES} bytes: no {what}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"no {what}: {error.strerror}") from error
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from error


def parse(text: str | bytes, what: str = "JSON document") -> Any:
    try:
        data = json.loads(text, parse_constant=_no_number, parse_int=_whole, parse_float=_finite)
    except json.JSONDecodeError as error:
        found = f"found {error.msg} at line {error.lineno}"
        raise Unreadable(f"not JSON: expected a complete JSON document, {found}") from error
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from error
    except RecursionError:
        raise Unreadable(f"nested too deeply for a {what}") from None
    _check_depth(data, what)
    return data


def reread(text: str) -> Any:
    """Parse a text again that `parse` has accepted, in a tenth of the time."""
    return json.loads(text)


def write(path: Path, data: Any, modified: float | None = None) -> None:
    """Write a file as `files.write_whole` does, with a line end."""
    write_whole(path, json.dumps(data, indent=1) + "\n", modified)


def _check_depth(data: Any, what: str) -> None:
    level = [data] if isinstance(data, NESTED) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, NESTED)
        ]
        if not level:
            return
    raise Unreadable(f"nested too deeply for a {what}")


def _no_number(word: str) -> float:
    raise ValueError(f"{word}: expected a number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:30]} is too large for a float")
    return value
