# SPDX-License-Identifier: BSD-3-Clause
"""What a session's stacks from Spack are made of: version and hash of each package, and the lock
file that makes the same again."""

from __future__ import annotations

from pathlib import Path

from ..session.rows import Table
from .report_tables import Section

LOCK = "spack.lock"  # the tests keep it beside each result
COLUMNS = ("package", "stack", "version", "hash")


def lock_files(table: Table) -> dict[str, Path]:
    """One lock file of each stack from Spack, by the stack's name; those that are gone are left
    out."""
    found: dict[str, Path] = {}
    for row in table.all_rows:
        for run in row.runs:
            if run.packages and run.folder and (run.folder / LOCK).is_file():
                found.setdefault(run.stack, run.folder / LOCK)
    return found


def section(table: Table, root: Path) -> Section:
    """A row for each package of each stack, equal packages side by side; their hashes lead to the
    lock file. `root`: what its path is relative to, where it lies below."""
    locks = lock_files(table)
    found = {
        (name, run.stack, text)
        for row in table.all_rows
        for run in row.runs
        for name, text in run.packages.items()
    }
    rows = []
    for name, stack, text in sorted(found):
        version, _, digest = text.rpartition("/")
        cells = {"package": name, "stack": stack, "version": version, "hash": digest}
        rows.append({**cells, "lock": _below(locks.get(stack), root)})
    return Section(
        "spack", "Stacks from Spack", COLUMNS, rows,
        "All packages of a stack's environment, those that built it too. A hash stands for the "
        f"whole build: options, compiler, dependencies. {LOCK} makes the same again: as the "
        "spack.lock of an environment, spack -e ENV install.",
        "needs a stack from Spack: site_configs/spack.py",
        {"hash": "lock"}, ("stack",),
    )  # fmt: skip


def _below(path: Path | None, root: Path) -> str:
    if path is None:
        return ""
    real = path.resolve()
    return str(real.relative_to(root) if real.is_relative_to(root) else real)
