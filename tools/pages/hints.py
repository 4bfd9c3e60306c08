# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/hints.md, from the table of hints (kernels/base/known_hints.def)."""

import textwrap
from pathlib import Path

from iogauge.common.hints import Known, known

TITLES = {
    "MPI": ("MPI standard", "Any MPI-IO implementation may use or ignore these."),
    "ROMIO": (
        "ROMIO",
        "MPICH and its descendants; in Open MPI with `OMPI_MCA_io=romio321` (3.2.1) or\n"
        "`romio341` (3.4.1). Versions are MPICH's.",
    ),
    "OMPIO": ("OMPIO", "MCA variables of Open MPI: `fcoll=vulcan` sets `OMPI_MCA_fcoll=vulcan`."),
    "PNETCDF": ("PnetCDF", "Also read from `PNETCDF_HINTS`."),
    "HDF5": ("HDF5", "iokernel's names for HDF5 properties."),
    "IBM": ("IBM", "Parallel Environment and Blue Gene. Capitals: environment variables."),
    "CRAY": ("Cray", "Also read from `MPICH_MPIIO_HINTS`."),
}

HEAD = Path(__file__).with_name("hints_head.txt").read_text(encoding="utf-8")


def values(hint: Known) -> str:
    """What may be given, with the versions that take it."""
    if hint.range:
        least, most = hint.range
        text = f"{least}+" if most >= 2**31 - 1 else f"{least}-{most}"
    elif hint.kind == "TEXT":
        text = "text"
    else:
        text = ", ".join(f"`{word}`" for word in hint.words)
    since = f"; from {hint.since}" if hint.since else ""
    return text + since + (f"; before {hint.until}" if hint.until else "")


def rows(library: str) -> list[str]:
    """Hints of a library; those that take and do the same share a row."""
    alike: dict[tuple[str, str], list[str]] = {}
    for hint in known().values():
        if hint.library == library:
            alike.setdefault((hint.what, values(hint)), []).append(f"`{hint.name}`")
    lines = (f"- {', '.join(names)}: {what} ({taken})" for (what, taken), names in alike.items())
    return [line for text in lines for line in wrapped(text)]


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def page(_: str) -> str:
    parts = [HEAD]
    for library, (title, text) in TITLES.items():
        parts.append("\n".join([f"## {title}", "", text, "", *rows(library), ""]))
    return "\n".join(parts)
