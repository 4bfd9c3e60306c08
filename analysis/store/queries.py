# SPDX-License-Identifier: BSD-3-Clause
"""The long queries: files of the folder `sql`, in which `{name}` stands for a part."""

import functools
from pathlib import Path


@functools.cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str, **parts: object) -> str:
    return _text(name).format_map(parts)
