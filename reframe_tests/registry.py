"""Registers schedulers and launchers with ReFrame, each once.

ReFrame loads every file below `-c` that imports something of its name by *path*, besides the import
by name from the site file: a plain `register_scheduler` would meet its own name and fail.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from reframe.core.backends import register_launcher, register_scheduler

from reframe_tests import carried

# (kind, name) -> file that registered it
_known: dict[tuple[str, str], str] = {}


def _once(kind: str, name: str, register: Callable[[type], type]) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        source = inspect.getfile(cls)
        if _known.get((kind, name)) == source:
            return cls
        register(cls)  # a real clash of names is ReFrame's ConfigError
        _known[kind, name] = source
        return cls

    return decorate


def scheduler(name: str, *, local: bool = False, collects: bool = False) -> Callable[[type], type]:
    """Class decorator. `local`: jobs are processes of the machine that ReFrame runs on. `collects`:
    the one that stands for all others in a session that collects, where these are left out."""
    if collects != bool(carried.folder()):
        return lambda cls: cls
    return _once("scheduler", name, register_scheduler(name, local=local))


def launcher(name: str) -> Callable[[type], type]:
    """Class decorator."""
    return _once("launcher", name, register_launcher(name))
