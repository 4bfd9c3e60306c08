# SPDX-License-Identifier: BSD-3-Clause
"""Whatever stands in a result document, the harness reads it or says in one line why not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks.result_file import MOST, Wrong, load, refuse
from iogauge.analysis.checks.verdict import check
from tests.reframe_tests.test_reframe_verdict import EXPECTED, change, document

Change = Callable[[dict[str, Any]], None]


def without(*path: Any) -> Change:
    def apply(target: Any) -> None:
        for key in path[:-1]:
            target = target[key]
        del target[path[-1]]

    return apply


# What is wrong, and what the line must name.
VALUES: dict[str, tuple[Change, str]] = {
    "no samples": (change("samples", to=[]), "samples"),
    "processes": (change("system", "processes", to=-3), "system/processes: -3"),
    "payload": (change("payload", "bytes", to=-1), "payload/bytes: -1"),
    "seconds": (change("samples", 0, "write", "seconds", to=-1), "write/seconds: -1"),
    "status": (change("status", to="banana"), "'banana'"),
    "method": (change("asked", "method", to="posix"), "asked.method is 'posix', not 'mpiio'"),
    "no method": (change("asked", "method", to="tape"), "asked.method is 'tape'"),
    "too fast": (change("samples", 0, "read", "bandwidth", to=1.5e302), "1.5e+302"),
    "fast": (change("samples", 0, "read", "bandwidth", to=1.5e12), "payload / seconds"),
    "too large": (change("payload", "bytes", to=2**70), f"payload/bytes is {2**70}"),
    "NUL": (change("asked", "directory", to="/x\x00y"), "asked/directory has control"),
    "escape": (change("system", "hosts", to=["\x1b[2J"]), "system/hosts/0 has control"),
    "surrogate": (change("system", "kernel", to="\ud800"), "system/kernel has control"),
    "key": (change("used", "hints", to={"a\x1b": "1"}), "key with control characters"),
    "list": (change("system", to=[]), "system"),
    "text for number": (change("payload", "bytes", to="256000"), "payload/bytes"),
    "number for text": (change("system", "kernel", to=7), "system/kernel: 7"),
    "truth for number": (change("samples", 0, "write", "seconds", to=True), "write/seconds: True"),
    "null": (change("asked", to=None), "asked"),
    "missing": (without("verification"), "'verification' is a required property"),
    "unknown": (change("verdict", to="verified"), "'verdict'"),
    "no time": (change("system", "time", to="yesterday"), "system/time"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_cannot_be_is_named(name: str, tmp_path: Path) -> None:
    alter, message = VALUES[name]
    wrong = document()
    alter(wrong)
    assert message in line(tmp_path, json.dumps(wrong))


TEXTS = {
    "nothing": ("", "not JSON"),
    "half": ('{"schema": "iogauge.result/1", ', "not JSON"),
    "list": ("[]", "no result file of iogauge (schema None"),
    "deep": ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
    "deep objects": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "many digits": ('{"schema": ' + "9" * 5000 + "}", "not JSON"),
    "no number": ('{"schema": NaN}', "NaN: expected a number"),
    "no schema": ("{}", "schema None"),
    "schema": ('{"schema": ["' + "x" * 10_000 + '"]}', "schema ['xxx"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_document_is_one_line(name: str, tmp_path: Path) -> None:
    text, message = TEXTS[name]
    assert message in line(tmp_path, text)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"9" * 5000: 2**63}, id="a number beyond all measure"),
        pytest.param({"9" * 5000: "\x1b"}, id="a control character"),
        pytest.param({"9" * 5000: {"\x1b": 1}}, id="in a key"),
        pytest.param({"schema": "9" * 5000}, id="a schema"),
    ],
)
def test_a_long_name_is_cut_in_the_message(changed: dict[str, Any], tmp_path: Path) -> None:
    said = line(tmp_path, json.dumps({**document(), **changed}))
    assert len(said) < 600 and "..." in said


def test_bytes_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b'{"schema": "\xff\xfe"}')
    with pytest.raises(Wrong, match="not JSON"):
        load(path)
    with pytest.raises(Wrong, match="no result document"):
        load(tmp_path)


def test_an_element_that_was_found_may_be_anything(tmp_path: Path) -> None:
    """Of a wrong byte: the value that stood there."""
    wrong = document() | {"status": "failed", "error": "1 element differs"}
    first = {"dataset": "u", "index": [1], "file": "f", "offset": 8, "process": 0, "host": "n"}
    first |= {"expected": 1.5, "found": 1.5e302}
    wrong["verification"] |= {"verdict": "mismatch", "mismatches": 1, "first": first}
    assert "found 1.5e+302" in line(tmp_path, json.dumps(wrong))


def line(folder: Path, text: str) -> str:
    path = folder / "result.json"
    path.write_text(text)
    with pytest.raises(Wrong) as caught:
        check(load(path), EXPECTED)
    said = str(caught.value)
    assert said.isprintable() and len(said) < 500
    return said


def test_all_that_is_wrong_is_said_once() -> None:
    with pytest.raises(Wrong, match=r"^one; two$"):
        refuse(["one", "two", "one"])
    with pytest.raises(Wrong, match=r"^0; .*; and 3 more$"):
        refuse(map(str, range(MOST + 3)))
    refuse([])


def test_what_was_found_before_a_missing_part_is_said() -> None:
    def complaints() -> Iterator[str]:
        yield "first"
        yield dict[str, str]()["second"]

    with pytest.raises(Wrong, match=r"^first; the result document lacks a part: KeyError"):
        refuse(complaints())
