# SPDX-License-Identifier: BSD-3-Clause
"""A result document from its file: held against docs/result.schema.json before anything reads it.

Whatever stands in the file, the answer is the document or one line. Needs no ReFrame.
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
from pathlib import Path
from typing import Any

import jsonschema

from iogauge import paths
from iogauge.document import UnknownSchema, Unreadable, check_schema, read

# Counts are 64-bit; no time, rate or size that can be measured is beyond this either.
MOST = 2**63
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
LINE = 300  # characters of a message


class Wrong(Exception):
    """The run is not right; the text says why in one line."""


def load(path: Path) -> dict[str, Any]:
    """The document in `path`; `Wrong` where it is missing, unreadable, of an unknown schema, or
    not as the schema says."""
    try:
        document = read(path)
        if not isinstance(document, dict):
            raise Wrong(f"{path.name} holds no object")
        check_schema(document)
    except (Unreadable, UnknownSchema) as problem:
        raise Wrong(f"{path.name}: {one_line(str(problem))}") from problem
    _check_values(path.name, document)
    error = jsonschema.exceptions.best_match(_validator().iter_errors(document))
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the document"
        raise Wrong(f"{path.name} is not as docs/result.schema.json says: {place}: {_why(error)}")
    return document


def is_readable(path: Path) -> bool:
    try:
        load(path)
    except Wrong:
        return False
    return True


@functools.cache
def _validator() -> Any:
    schema = json.loads(paths.data("docs/result.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _check_values(name: str, document: dict[str, Any]) -> None:
    """What a schema cannot say: no number beyond all measure, no control character in a text."""
    todo: list[tuple[str, Any]] = [("", document)]
    while todo:
        place, value = todo.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if CONTROL.search(key):
                    raise Wrong(f"{name}: {place}: a key with control characters, {key!a:.60}")
                todo.append((f"{place}/{key}".lstrip("/"), inner))
        elif isinstance(value, list):
            todo += [(f"{place}/{i}", inner) for i, inner in enumerate(value)]
        elif isinstance(value, str) and place != "error" and CONTROL.search(value):
            raise Wrong(f"{name}: {place} has control characters: {value!a:.60}")
        elif place.startswith("verification/first/"):
            continue  # an element that was found may be anything
        elif isinstance(value, int | float) and not abs(value) < MOST:
            what = f"{reprlib.repr(value)}: nothing that is measured is so large"
            raise Wrong(f"{name}: {place} is {what}")


def _why(error: Any) -> str:
    """jsonschema's message begins with the value itself, which may be long."""
    rest = error.message.removeprefix(repr(error.instance))
    said = error.message if rest == error.message else f"{reprlib.repr(error.instance)}{rest}"
    return one_line(said)


def one_line(text: str) -> str:
    """Without line breaks and control characters; the middle of a long one is left out."""
    line = CONTROL.sub("?", " ".join(text.split()))
    return line if len(line) <= LINE else f"{line[: LINE // 2]} ... {line[-LINE // 2 :]}"
