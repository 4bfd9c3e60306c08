# SPDX-License-Identifier: BSD-3-Clause
"""The long queries: files of the folder `sql`, in which `{name}` stands for a part."""

from pathlib import Path


def query(name: str, **parts: object) -> str:
    file = Path(__file__).parent / "sql" / f"{name}.sql"
    return file.read_text(encoding="utf-8").format_map(parts)
