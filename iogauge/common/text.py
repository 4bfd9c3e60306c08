# SPDX-License-Identifier: BSD-3-Clause
"""Untrusted text made safe for a terminal, a page, a spreadsheet or a folder's name.

A name may hold anything: `ESC [ 2 J` clears a terminal, `=1+1` is a formula, `../..` is elsewhere.
"""

import csv
import difflib
import io
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# Control characters, changes of writing direction, Unicode line breaks, and lone surrogates. A
# script or a terminal line would continue after them.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
Notice = Callable[[str], None]
LINE = 300  # characters of a quoting message
# Characters that begin a formula in a spreadsheet.
FORMULA = ("=", "+", "-", "@")
FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@~-]{0,127}")


def plain(text: str) -> str:
    """The text on one line: white space becomes blanks, unprintable characters `?`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def one_line(text: str, most: int = LINE) -> str:
    """A message: plain, single blanks, the middle of a long one cut out."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"


def first_error(output: str) -> str:
    """The first error of a compiler, a linker or CMake in one line; empty without one."""
    compiler = r"^.*(?:\berror: |undefined reference|cannot find -l).*"
    cmake = r"^CMake Error\b(?:.*:\n|:)((?:(?!Call Stack).+\n?)+)"
    found = re.search(compiler, output, re.M) or re.search(cmake, output, re.M)
    return one_line(found[found.lastindex or 0]) if found else ""


def plain_all(data: Any) -> Any:
    """A copy of JSON data with all strings and keys plain."""
    if isinstance(data, str):
        return plain(data)
    if isinstance(data, dict):
        return {plain_all(key): plain_all(value) for key, value in data.items()}
    return [plain_all(value) for value in data] if isinstance(data, list) else data


def cell(value: Any) -> Any:
    """A value of a CSV table; an apostrophe protects text that a spreadsheet would compute."""
    if not isinstance(value, str):
        return value
    shown = plain_lines(value)
    formula = shown.lstrip().startswith(FORMULA) and shown != "-"
    return f"'{shown}" if formula else shown


def folder_name(name: str) -> str:
    """`name` if it is valid for a folder or file. Raises ValueError, which says what is valid."""
    if FOLDER.fullmatch(name):
        return name
    allowed = "at most 128 letters, digits and _ . + @ ~ -, the first no dot"
    raise ValueError(f"{one_line(name, 60)!r} cannot name a folder: use {allowed}")


def plain_lines(text: str) -> str:
    """`plain`, but with line breaks kept."""
    return "\n".join(map(plain, text.split("\n")))


def notice(text: str) -> None:
    """Print it on stderr. It may hold untrusted names."""
    print(plain_lines(text), file=sys.stderr, flush=True)


def notices(command: str) -> Notice:
    """`notice`, with the command's name before the text."""
    return lambda text: notice(f"{command}: {text}")


def csv_table(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and the rows in full precision; RFC 4180 with bare newlines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell, names))
    writer.writerows([cell(row[name]) for name in names] for row in rows)
    return text.getvalue()


def three(value: float) -> str:
    """A number with at least three significant digits and no false precision: 512, 21.4, 1.07;
    below 1 two: 0.62, 0.093, 0.0042."""
    if 0 < abs(value) < 0.1:
        return f"{value:#.2g}"
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{decimals}f}"


def time_unit(seconds: float) -> tuple[str, float]:
    """The largest that is not above its three digits, and the unit's seconds."""
    units = (("s", 1.0), ("ms", 1e-3), ("\N{MICRO SIGN}s", 1e-6))
    return next((unit for unit in units if abs(float(f"{seconds:.3g}")) >= unit[1]), units[-1])


def duration(seconds: float) -> str:
    """Each time that a person reads: 21.4 s, 1.07 ms, 62.0 \N{MICRO SIGN}s."""
    unit, size = time_unit(seconds)
    return f"{three(seconds / size)} {unit}" if seconds else "0 s"


def ratio(value: float, verdict: str) -> str:
    """Two significant digits while it is not decided yet: 0.90, 1.0, 21, 150."""
    if verdict != "not decided yet":
        return three(value)
    two = float(f"{value:.2g}")
    return f"{two:#.2g}".rstrip(".") if two < 100 else f"{two:g}"


def percent(value: float) -> str:
    return "<1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


def counted(count: int, word: str) -> str:
    """`1 case`, `3 cases`, `2 processes`."""
    plural = "es" if word.endswith("s") else "s"
    return f"{count} {word}{plural * (count != 1)}"


def nearest(word: str, known: Iterable[str]) -> str:
    """The most similar known word; empty if none is similar."""
    return next(iter(difflib.get_close_matches(word, list(known), 1)), "")


def unknown(word: str, known: Iterable[str]) -> str:
    """The message for an unknown word."""
    names = list(known)
    close = nearest(word, names)
    valid = f"did you mean {close!r}?" if close else f"use one of {', '.join(names)}"
    return f"{word!r} is unknown; {valid}"
