# SPDX-License-Identifier: BSD-3-Clause
"""Registers schedulers and launchers with ReFrame, each once, though it may load their files twice:
see CONTRIBUTING.md."""

import inspect
from collections.abc import Callable
from typing import Any

from reframe.core import fields, variables
from reframe.core.backends import register_launcher, register_scheduler
from reframe.utility import jsonext

from reframe_tests.jobs import collected

# ReFrame's own deprecated alias `variables` makes it walk the Python stack twice for each test: 5
# ms, more than half of the time to list our tests. All other warnings stay.
OWN_ALIAS = "the use of 'variables' is deprecated"


def _without_own_alias(warn: Callable[..., None]) -> Callable[..., None]:
    def warn_of_others(message: str, *more: Any) -> None:
        if not message.startswith(OWN_ALIAS):
            warn(message, *more)

    return warn_of_others


for module in (fields, variables):
    module.user_deprecation_warning = _without_own_alias(module.user_deprecation_warning)

# Without line breaks: its indenting encoder, of cases and of the report, takes ten times as long.
jsonext.dump = lambda data, file, **_: file.write(jsonext.dumps(data))

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
    replaces all others in a session that collects."""
    if collects != bool(collected.folder()):
        return lambda cls: cls
    return _once("scheduler", name, register_scheduler(name, local=local))


def launcher(name: str) -> Callable[[type], type]:
    return _once("launcher", name, register_launcher(name))
