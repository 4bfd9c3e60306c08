# SPDX-License-Identifier: BSD-3-Clause
"""Quotes a site file's texts for a job script: none of them runs as a command."""

import re

from iogauge.common.text import CONTROL

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# References to variables: `$HOME`, `${PATH}`. No other `$` has a meaning.
VARIABLE = re.compile(r"\$(?=[A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})")


def one_line(text: object) -> str:
    """Text for a comment: line breaks become blanks."""
    return CONTROL.sub(" ", str(text))


def name(text: object) -> str:
    """The name of a variable or a hint; `ValueError` for anything else."""
    if not NAME.fullmatch(str(text)):
        raise ValueError(f"{text!r} is not a name: use letters, digits and _")
    return str(text)


def checked_line(text: str) -> str:
    """`ValueError` if a directive contains a line break."""
    if CONTROL.search(text):
        raise ValueError(f"{text!r} has a line break or a control character")
    return text


def in_quotes(text: object) -> str:
    """For text inside double quotes: nothing is expanded."""
    return re.sub(r'([\\"`$])', r"\\\1", one_line(text))


def assigned(text: object) -> str:
    """A variable's value, in which variables are expanded, and nothing else happens."""
    parts = VARIABLE.split(str(text))
    return '"' + "$".join(re.sub(r'([\\"`$])', r"\\\1", part) for part in parts) + '"'
