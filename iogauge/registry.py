# SPDX-License-Identifier: BSD-3-Clause
"""What the kernels' registries hold: the names of all patterns and methods, built or not, in the
order of the registry, which is the order in which tables show them."""

from __future__ import annotations

import functools
import re

from iogauge import paths

# What is asked for -> the registry's file, and the word that each of its lines begins with.
REGISTRIES = {
    "patterns": ("kernels/patterns/patterns.def", "IO_PATTERN"),
    "methods": ("kernels/methods/methods.def", "IO_METHOD"),
}


class RegistryError(RuntimeError):
    """A registry is missing or holds no line; the message names its file."""


@functools.cache
def names(what: str) -> tuple[str, ...]:
    """The names of all `what`, "patterns" or "methods": `ramses-amr`, `posix-shared`.

    A line is `IO_PATTERN(identifier ...)` or `IO_METHOD(identifier, "name", ...)`. Where a line
    gives no name, the name is the identifier with dashes. Raises RegistryError.
    """
    name, word = REGISTRIES[what]
    file = paths.data(name)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise RegistryError(f"{file}: cannot be read: {error.strerror}") from None
    lines = re.findall(rf'^{word}\(\s*(\w+)(?:\s*,\s*"([^"]+)")?', text, re.MULTILINE)
    if not lines:
        raise RegistryError(f"{file}: expected lines {word}(...), found none")
    return tuple(given or identifier.replace("_", "-") for identifier, given in lines)
