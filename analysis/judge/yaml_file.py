# SPDX-License-Identifier: BSD-3-Clause
"""Read a YAML file against its JSON Schema; an error names the line."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from iogauge.common import json_file, schemas
from iogauge.common.text import CONTROL, nearest, one_line

from ..errors import ReferenceFileError, reraised

MOST_BYTES = 2**24
DEEPEST = 32  # nested lists and objects
MOST = 2**63


def _parse(text: str) -> Any:
    """The root node. libyaml is ten times as fast; the errors of PyYAML's own parser are better."""
    try:
        return yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.compose(text, yaml.SafeLoader)


class YamlFile:
    """A file's data, and the line of each part."""

    def __init__(self, path: Path, schema: Path) -> None:
        """Raises ReferenceFileError if it is missing, no YAML, or against its schema."""
        self.path = path
        try:
            if path.exists() and not path.is_file():
                raise ReferenceFileError(f"{path}: expected a file")
            if path.stat().st_size > MOST_BYTES:
                raise ReferenceFileError(f"{path}: more than {MOST_BYTES} bytes")
            text = path.read_text(encoding="utf-8")
            self._node = _parse(text)
            self._check_nodes(self._node)
            self.data: Any = self._node and yaml.SafeLoader("").construct_document(self._node)
        except FileNotFoundError:
            raise ReferenceFileError(f"{path}: expected a file, found none") from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ReferenceFileError(f"{path}:{line}: {error.problem}") from None
        except OSError as error:
            raise ReferenceFileError(f"{path}: expected YAML: {error.strerror}") from None
        except RecursionError:
            raise ReferenceFileError(f"{path}: nested too deeply") from None
        # More than ValueError: no Python object can hold some numbers and dates.
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            yaml.YAMLError,
        ) as error:
            raise ReferenceFileError(f"{path}: expected YAML: {one_line(str(error))}") from None
        self._check_numbers(self.data, [])
        self._validate(json_file.read(schema))

    def error(self, where: Sequence[str | int], what: str) -> ReferenceFileError:
        return ReferenceFileError(f"{self.path}:{self.line(where)}: {one_line(what)}")

    def line(self, where: Sequence[str | int]) -> int:
        """The line of the part at `where` (keys, indices), or of its nearest parent."""
        node, line = self._node, 1
        for step in where:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next((kv for kv in node.value if kv[0].value == step), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                found = (node.value[step],) * 2 if step < len(node.value) else None
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return int(line)

    def _validate(self, schema: dict[str, Any]) -> None:
        known = schema.get("properties", {}).get("schema")
        if known and isinstance(self.data, dict) and "schema" in self.data:
            with reraised(schemas.UnknownSchema, partial(self.error, ["schema"])):
                schemas.check(self.data, known["const"])
        validator = jsonschema.Draft202012Validator(schema)
        # Report an unknown key first: often it is a missing key, misspelt.
        problems = sorted(
            validator.iter_errors(self.data), key=lambda e: e.validator != "additionalProperties"
        )
        for problem in problems:
            where = list(problem.absolute_path)
            if problem.validator == "additionalProperties" and isinstance(problem.instance, dict):
                # The schema's message names the object; the key's line is better.
                known = problem.schema.get("properties", {})
                wrong = next(key for key in problem.instance if key not in known)
                near = nearest(str(wrong), known)
                meant = f" (did you mean {near}?)" if near else ""
                what = f"unknown key {wrong!r}{meant}; known are {', '.join(known)}"
                raise self.error([*where, wrong], what)
            name = ".".join(map(str, where))
            raise self.error(where, f"{name}: {problem.message}" if name else problem.message)

    def _check_nodes(self, node: Any, depth: int = 0, seen: set[int] | None = None) -> None:
        """Refuse what YAML allows and our files do not use: duplicate keys (the reader would
        silently take the last), keys that are not text, aliases (a few lines could expand to
        gigabytes), and deep nesting."""
        seen = set() if seen is None else seen
        if node is None:
            return
        line = node.start_mark.line + 1
        if id(node) in seen:
            raise ReferenceFileError(f"{self.path}:{line}: an alias (*); write it out")
        seen.add(id(node))
        if depth > DEEPEST:
            raise ReferenceFileError(f"{self.path}:{line}: nested too deeply")
        if isinstance(node, yaml.ScalarNode):
            if CONTROL.search(node.value.replace("\n", "")):
                raise ReferenceFileError(f"{self.path}:{line}: a control character")
        elif isinstance(node, yaml.MappingNode):
            self._check_keys([key for key, _ in node.value])
            for _, value in node.value:
                self._check_nodes(value, depth + 1, seen)
        else:
            for value in node.value:
                self._check_nodes(value, depth + 1, seen)

    def _check_keys(self, keys: Sequence[Any]) -> None:
        names = set()
        for key in keys:
            at = f"{self.path}:{key.start_mark.line + 1}"
            if key.tag != "tag:yaml.org,2002:str" or CONTROL.search(key.value):
                raise ReferenceFileError(f"{at}: a key that is not a name")
            if key.value in names:
                raise ReferenceFileError(f"{at}: {one_line(key.value)!r} appears twice")
            names.add(key.value)

    def _check_numbers(self, value: Any, where: list[str | int]) -> None:
        """YAML has `.nan`, `.inf`, and integers of any length."""
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            for key, one in inner:
                self._check_numbers(one, [*where, key])
        elif isinstance(value, int | float) and not (abs(value) < MOST):
            raise self.error(where, f"{value!r:.30} is not a measurable number")
