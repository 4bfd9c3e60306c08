# SPDX-License-Identifier: BSD-3-Clause
"""Read a YAML file against its JSON Schema; an error names the line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ..errors import ReferenceFileError


class YamlFile:
    """The data of a file, and the line of each part of it."""

    def __init__(self, path: Path, schema: Path) -> None:
        """Raises ReferenceFileError where the file is missing, is no YAML, or breaks its schema."""
        self.path = path
        try:
            text = path.read_text(encoding="utf-8")
            self._node = yaml.compose(text, Loader=yaml.SafeLoader)
            self.data: Any = yaml.safe_load(text)
        except FileNotFoundError:
            raise ReferenceFileError(f"{path}: expected a file, found none") from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ReferenceFileError(f"{path}:{line}: {error.problem}") from None
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ReferenceFileError(f"{path}: expected YAML: {error}") from None
        self._refuse_doubles(self._node)
        self._hold_against(json.loads(schema.read_text(encoding="utf-8")))

    def error(self, where: Sequence[str | int], what: str) -> ReferenceFileError:
        return ReferenceFileError(f"{self.path}:{self.line(where)}: {what}")

    def line(self, where: Sequence[str | int]) -> int:
        """The line of the part at the keys and indices `where`, or of what it should be in."""
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

    def _hold_against(self, schema: dict[str, Any]) -> None:
        validator = jsonschema.Draft202012Validator(schema)
        # Name an unknown key first: often it is the misspelt name of a key that is missing.
        problems = sorted(
            validator.iter_errors(self.data), key=lambda e: e.validator != "additionalProperties"
        )
        for problem in problems:
            where = list(problem.absolute_path)
            if problem.validator == "additionalProperties" and isinstance(problem.instance, dict):
                # The schema's message names the object; the line of the wrong key is better.
                known = problem.schema.get("properties", {})
                wrong = next(key for key in problem.instance if key not in known)
                what = f"unknown key {wrong!r}; known are {', '.join(known)}"
                raise self.error([*where, wrong], what)
            name = ".".join(map(str, where))
            raise self.error(where, f"{name}: {problem.message}" if name else problem.message)

    def _refuse_doubles(self, node: Any) -> None:
        """Raise for a key that stands twice. (YAML's reader would silently take the last one.)"""
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise ReferenceFileError(f"{self.path}:{line}: {key.value!r} stands twice")
                seen.add(key.value)
                self._refuse_doubles(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._refuse_doubles(value)
