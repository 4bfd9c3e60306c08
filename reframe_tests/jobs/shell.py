# SPDX-License-Identifier: BSD-3-Clause
"""What a site file says, as words of a job script: none of them runs as a command."""

from __future__ import annotations

import re

from iogauge.common.text import CONTROL

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The variables of other variables' values: `$HOME`, `${PATH}`. No other `$` means anything.
VARIABLE = re.compile(r"\$(?=[A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})")


def one_line(text: object) -> str:
    """For a comment: whatever ends a line becomes a blank."""
    return CONTROL.sub(" ", str(text))


def name(text: object) -> str:
    """Of a variable or a hint; `ValueError` for what could be anything else."""
    if not NAME.fullmatch(str(text)):
        raise ValueError(f"{text!r} is no name: right are letters, digits and _")
    return str(text)


def checked_line(text: str) -> str:
    """`ValueError` where a directive would end before its end."""
    if CONTROL.search(text):
        raise ValueError(f"{text!r} has a line break or a control character")
    return text


def said(text: object) -> str:
    """Within double quotes, where nothing is replaced."""
    return re.sub(r'([\\"`$])', r"\\\1", one_line(text))


def assigned(text: object) -> str:
    """A variable's value, in which other variables are replaced, and nothing else happens."""
    parts = VARIABLE.split(str(text))
    return '"' + "$".join(re.sub(r'([\\"`$])', r"\\\1", part) for part in parts) + '"'
