# SPDX-License-Identifier: BSD-3-Clause
"""What all pages share: templates, files, links. A page is one file that opens from disk."""

import os
from pathlib import Path

import jinja2

from iogauge.common.text import plain_lines

PNG_SCALE = 1.5  # of pictures
SVG = "http://www.w3.org/2000/svg"


def load_template(name: str) -> jinja2.Template:
    """A template of this folder; an undefined variable is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=not name.endswith(".md.j2"),
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _plain(value: object) -> object:
    """Applied to the value of each template expression, before escaping."""
    return type(value)(plain_lines(value)) if isinstance(value, str) else value


def link(path: Path | None, folder: Path) -> str:
    """A relative link: the output folder can be moved or copied."""
    if path is None:
        return ""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
