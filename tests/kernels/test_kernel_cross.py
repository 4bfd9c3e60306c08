# SPDX-License-Identifier: BSD-3-Clause
"""The documentation's table of patterns x methods: current, and made right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from iokernel_stacks import Stack

from tools.pages import __main__ as pages
from tools.pages.__main__ import BEGIN, END, CannotMake, put

FOUND: dict[str, Any] = {
    "patterns": [{"name": "a"}, {"name": "b"}],
    "methods": [
        {"name": "posix", "available": True, "reason": None},
        {"name": "hdf5", "available": True, "reason": None},
    ],
    "cross": [
        {"pattern": "a", "method": "posix", "ok": True, "reason": None},
        {"pattern": "a", "method": "hdf5", "ok": False, "reason": "no room"},
        {"pattern": "b", "method": "posix", "ok": False, "reason": "no room"},
        {"pattern": "b", "method": "hdf5", "ok": False, "reason": "no mesh"},
    ],
}
EMPTY = f"before\n{BEGIN.format(pages.NAME)}{END.format(pages.NAME)}\nafter\n"
TABLE = """\
| pattern | posix | hdf5 |
| --- | --- | --- |
| a | yes | no (1) |
| b | no (1) | no (2) |

1. no room
2. no mesh"""


def page() -> str:
    return (pages.DOCS / "reference" / "patterns-and-methods.md").read_text()


def listed(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stack.alone("--list", "--json", "-").stdout)
    return found


def test_page_is_current(openmpi: Stack) -> None:
    """`openmpi` skips by name where the stack is not installed."""
    found = listed(openmpi)
    assert pages.cross_page(page(), found) == page(), "run python -m tools.pages"
    rows = [line for line in page().splitlines() if "| yes |" in line or "| no (" in line]
    assert len(rows) == len(found["patterns"])


def test_each_reason_stands_once() -> None:
    assert pages.cross_table(FOUND) == TABLE


def test_a_method_that_the_program_lacks_stays_as_the_page_has_it() -> None:
    old = put(EMPTY, pages.NAME, f"{TABLE}\n")
    hdf5 = {"name": "hdf5", "available": False, "reason": "built without HDF5"}
    pairs = [pair for pair in FOUND["cross"] if pair["method"] == "posix"]
    found = {**FOUND, "methods": [FOUND["methods"][0], hdf5], "cross": pairs}
    assert pages.cross_page(old, found) == old
    with pytest.raises(CannotMake, match="built without HDF5, and the page has no column"):
        pages.cross_page(old.replace("hdf5", "other"), found)


def test_only_the_table_changes(openmpi: Stack) -> None:
    old = page().replace("| s3d | yes ", "| s3d | no (1) ", 1)
    assert old != page()
    assert pages.cross_page(old, listed(openmpi)) == page()


@pytest.mark.slow
def test_what_cannot_be(poor: Stack) -> None:
    """A program and a page that lack a method; a page without the place for it."""
    with pytest.raises(CannotMake, match="parallel HDF5"):
        pages.cross_page(EMPTY, listed(poor))
    with pytest.raises(CannotMake, match="one of each"):
        put("nothing\n", pages.NAME, "x")
