# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/reference/hints.md from the table of hints (kernels/base/known_hints.def).

    python -m tools.hints_page

tests/test_hints.py compares the page with the tables.
"""

from __future__ import annotations

from iogauge.common.hints import Known, known
from iogauge.common.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "hints.md"

TITLES = {
    "MPI": ("The standard's", "Every MPI-IO may take these, and may pass over them."),
    "ROMIO": (
        "ROMIO's",
        "MPICH and what descends from it; Open MPI with `OMPI_MCA_io=romio321` (3.2.1) or "
        "`romio341` (3.4.1).\nVersions are MPICH's.",
    ),
    "OMPIO": (
        "OMPIO's",
        "Open MPI's own, as variables: `fcoll=vulcan` is `OMPI_MCA_fcoll=vulcan`.",
    ),
    "PNETCDF": ("PnetCDF's", "Also through `PNETCDF_HINTS`."),
    "HDF5": ("HDF5's", "iokernel's names for properties of the library."),
    "IBM": ("IBM's", "Parallel Environment and Blue Gene; names in capitals are variables."),
    "CRAY": ("Cray's", "Also through `MPICH_MPIIO_HINTS`."),
}

HEAD = """# Hints

`iokernel --hint K=V` and `-S hints="K=V K=V"` take these. A name that the library in use does not
know, and a value that is not right, end the run before it begins, and the message names the
nearest. A hint of a library newer than this table passes with `--unknown-hints pass` (ReFrame:
`-S unknown_hints=pass`). The variables that a library reads itself (`ROMIO_HINTS`,
`PNETCDF_HINTS`, `OMPI_MCA_...`) are checked in the same way.

An empty version: in all that matter. The tables are `kernels/base/known_hints.def` and
`kernels/base/hints.def`; this page is made of them: `python -m tools.hints_page`.
"""


def values(hint: Known) -> str:
    """What may be given, in words."""
    if hint.range:
        least, most = hint.range
        if most == 2**31 - 1:
            return f"{least} to 2^31-1"
        return f"{least} or more" if most > 2**31 else f"{least} to {most}"
    if hint.kind == "TEXT":
        return "any"
    return ", ".join(f"`{word}`" for word in hint.words)


def versions(hint: Known) -> str:
    """Since which, and up to which."""
    return " ".join(
        [
            *([f"from {hint.since}"] if hint.since else []),
            *([f"before {hint.until}"] if hint.until else []),
        ]
    )


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for library, (title, text) in TITLES.items():
        rows = [
            f"| `{hint.name}` | {values(hint)} | {versions(hint)} | {hint.what} |"
            for hint in known().values()
            if hint.library == library
        ]
        head = ["| hint | values | versions | what it does |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([f"## {title}", "", text, "", *head, *rows, ""]))
    return "\n".join(parts)


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
