# SPDX-License-Identifier: BSD-3-Clause
"""Markdown tables with aligned columns, readable in a terminal."""

from collections.abc import Iterable


def table(head: Iterable[object], rows: Iterable[Iterable[object]], left: int = 1) -> str:
    """`left`: the number of text columns; the others hold numbers."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["---" if i < left else "---:" for i in range(len(widths))])
    return "\n".join(
        "| " + " | ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ) + " |"
        for line in lines
    )  # fmt: skip
