"""Stacks: what an environ's `features` and `extras` say, and whether the machine really has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reframe_tests.calls import CALLS


def missing(environ: Any, features: Iterable[str]) -> str | None:
    """What `environ` needs for `features` and does not find here, as a reason to skip, or None.

    `extras['needs']`: for each feature, a list of {`what`: a command or an absolute path, `from`:
    what brings it}.
    """
    needs = environ.extras.get("needs", {})
    lacking = [
        f"{need['what']} is missing ({need['from']})"
        for feature in features
        for need in needs.get(feature, [])
        if not _is_there(need["what"])
    ]
    return f"stack {environ.name}: {', '.join(lacking)}" if lacking else None


def _is_there(what: str) -> bool:
    path = Path(what)
    return path.exists() if path.is_absolute() else shutil.which(what) is not None


def promised(environ: Any) -> list[str]:
    """The methods that `environ` has a library for, by its features, and that this machine has all
    needs of."""
    methods = {call.method for call in CALLS}
    return [name for name in environ.features if name in methods and not missing(environ, [name])]


def too_many(environ: Any, processes: int) -> str | None:
    """Why the stack does not run that many processes, or None.

    `extras['max_processes']`: {`count`, `why`}.
    """
    limit = environ.extras.get("max_processes")
    if limit is None or processes <= limit["count"]:
        return None
    return (
        f"{processes} processes asked for, stack {environ.name} runs at most "
        f"{limit['count']} here: {limit['why']}"
    )
