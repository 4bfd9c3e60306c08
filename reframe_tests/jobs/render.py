# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts from Jinja2 templates. Needs no ReFrame."""

import functools
import json
import math
import re
import shlex
import traceback
from pathlib import Path
from typing import Any

import jinja2

from iogauge.common.paths import TEMPLATES, own
from reframe_tests.jobs import shell
from reframe_tests.machine.striping import in_bytes

OWN = own("templates")  # a site's templates


class TemplateProblem(Exception):
    """A template that cannot be rendered; the text names template, line and problem."""


def _hms(seconds: float) -> str:
    """`HH:MM:SS`, rounded up to a second: the filter `hms`."""
    whole = math.ceil(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _directive(option: str, prefix: str) -> str:
    """`prefix` before an option, unless it is already a directive (`#DW ...`)."""
    option = shell.checked_line(option)
    return option if option.startswith("#") else f"{prefix} {option}"


@functools.cache
def environment(folder: Path = TEMPLATES) -> jinja2.Environment:
    """An unknown variable is an error, never an empty string. Cached, because compiling a template
    takes 50 times as long as rendering it; Jinja2 checks whether its file has changed."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, OWN]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters |= {
        "sh": lambda value: shlex.quote(str(value)),
        "json": json.dumps,
        "hms": _hms,
        "minutes": lambda seconds: math.ceil(seconds / 60),
        # At most 15 letters and digits, a letter first.
        "pbs_name": lambda name: re.sub(r"^[^A-Za-z]+|[^A-Za-z0-9]", "", name)[:15],
        "directive": _directive,
        "bytes": in_bytes,
        "line": shell.one_line,
        "name": shell.name,
        "in_quotes": shell.in_quotes,
        "checked": shell.checked_line,
    }
    return env


def template_for(template: str, site: str, folder: Path = TEMPLATES) -> str:
    """`sites/<site>/<template>`, which extends it, if a site has its own, else `<template>`."""
    sites = f"sites/{site}/{template}"
    return sites if any((place / sites).is_file() for place in (folder, OWN)) else template


def render(template: str, values: dict[str, Any], folder: Path = TEMPLATES) -> str:
    """The script. `values`: see docs/reference/job-script.md. Raises TemplateProblem."""
    try:
        return environment(folder).get_template(template).render(values)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateProblem(f"{error.name}, line {error.lineno}: {error.message}") from error
    except jinja2.TemplateNotFound as error:
        raise TemplateProblem(f"template {error.name} is not in {folder}") from error
    except Exception as error:
        raise TemplateProblem(f"{_place(error, folder, template)}: {error}") from error


def _place(error: Exception, folder: Path, template: str) -> str:
    """Template and line: jinja2 puts template lines into the traceback; the innermost counts."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        for place in (folder, OWN):
            if Path(frame.filename).is_relative_to(place):
                return f"{Path(frame.filename).relative_to(place)}, line {frame.lineno}"
    return template
