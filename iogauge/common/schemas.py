# SPDX-License-Identifier: BSD-3-Clause
"""JSON data against a JSON schema, with what is wrong in one line."""

from __future__ import annotations

import functools
import re
import reprlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import json_file
from .text import one_line

# imported on first use: reading without validation does not need it
if TYPE_CHECKING:
    from jsonschema import ValidationError


class UnknownSchema(ValueError):
    """A newer version, or not this kind of file; the text follows the file's name."""


def check(data: Any, known: str, key: str = "schema") -> None:
    """Raises UnknownSchema unless the schema of `data` is `known`, or an older version of it."""
    found = data.get(key) if isinstance(data, dict) else None
    name, _, newest = known.partition("/")
    version = re.fullmatch(rf"{re.escape(name)}/([1-9]\d{{0,8}})", str(found))
    kind = f"{name.removeprefix('iogauge.')} file of"
    schema = f"(schema {reprlib.repr(found)}, this reads {known!r})"
    if not version:
        raise UnknownSchema(f"no {kind} iogauge {schema}")
    if int(version[1]) > int(newest):
        raise UnknownSchema(f"{kind} a newer iogauge {schema}: use that version or a newer one")


def problem(data: Any, schema: Path) -> str:
    """The place of what is wrong, and why; empty if nothing is."""
    if is_right(data, schema):
        return ""
    import jsonschema

    error = jsonschema.exceptions.best_match(validator(schema).iter_errors(data))
    if error is None:
        return ""
    place = "/".join(map(str, error.absolute_path)) or "the document"
    return f"{one_line(place)}: {_why(error)}"


def is_right(data: Any, schema: Path) -> bool:
    """The quick check, in a hundredth of the time; False also if only the slow check can tell."""
    # Not installed yet, or a number is too large for it.
    with suppress(ImportError, OverflowError, TypeError, ValueError):
        return bool(quick_validator(schema).is_valid(data))
    return False


@functools.cache
def quick_validator(schema: Path) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(json_file.read(schema))


@functools.cache
def validator(schema: Path) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json_file.read(schema))


def _why(error: ValidationError) -> str:
    """The reason without the value, with which jsonschema's message begins: it may be long."""
    rest = error.message.removeprefix(repr(error.instance))
    message = error.message if rest == error.message else f"{reprlib.repr(error.instance)}{rest}"
    return one_line(message)
