# SPDX-License-Identifier: BSD-3-Clause
"""A hook of MkDocs (mkdocs.yml): a link from the documentation to a source file becomes its
path."""

import posixpath
import re
from typing import Any

LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def outside(target: str, page: str) -> str | None:
    """For a link that leaves docs/: its path in the checkout, else None. `page` is below docs/."""
    if ":" in target or target.startswith("/"):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path == "docs" or path.startswith("docs/") else path


def rewrite(markdown: str, page: str) -> str:
    """`markdown` with each link that leaves docs/ as text and path."""

    def one(found: re.Match[str]) -> str:
        path = outside(found[2], page)
        if path is None:
            return found[0]
        name = found[1].strip("`")
        return f"`{path}`" if path.endswith(name) else f"{found[1]} (`{path}`)"

    return LINK.sub(one, markdown)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    return rewrite(markdown, page.file.src_uri)
