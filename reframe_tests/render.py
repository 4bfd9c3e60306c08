"""Job scripts from Jinja2 templates. Needs no ReFrame."""

from __future__ import annotations

import shlex
import traceback
from pathlib import Path
from typing import Any

import jinja2

from reframe_tests.paths import TEMPLATES


class TemplateProblem(Exception):
    """A template that cannot be rendered; the text names template, line and what is wrong."""


def _quote(value: object) -> str:
    """A shell word: the filter `sh`."""
    return shlex.quote(str(value))


def environment(folder: Path = TEMPLATES) -> jinja2.Environment:
    """Templates below `folder`; an unknown variable is an error, never an empty string."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["sh"] = _quote
    return env


def template_for(template: str, site: str, folder: Path = TEMPLATES) -> str:
    """`sites/<site>/<template>` where a site has its own, else `<template>`.

    A site's file begins with `{% extends "<template>" %}` and overrides single blocks.
    """
    own = f"sites/{site}/{template}"
    return own if (folder / own).is_file() else template


def render(template: str, values: dict[str, Any], folder: Path = TEMPLATES) -> str:
    """The script. `values` are the template's variables (docs/add-a-site.md lists them).

    Raises `TemplateProblem` for a missing template, wrong syntax, an undefined variable, and an
    error in an expression.
    """
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
        if Path(frame.filename).is_relative_to(folder):
            return f"{Path(frame.filename).relative_to(folder)}, line {frame.lineno}"
    return template
