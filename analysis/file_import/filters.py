# SPDX-License-Identifier: BSD-3-Clause
"""The filters of a user's file, as far as the kernels support them (kernels/base/filters.def)."""

from collections.abc import Iterable
from typing import NamedTuple

from iogauge.common import tables

from .document import Like, Variable

SZIP_PLACE = 1  # of its values: pixels per block come after a mask


class Filter(NamedTuple):
    name: str
    number: int  # HDF5's number
    least: int
    most: int  # the highest level; 0: it has none


def known() -> list[Filter]:
    """The known filters, in the order in which the kernels apply them."""
    rows = tables.rows("base/filters.def", "IO_FILTER")
    return [Filter(name, *map(int, numbers[:3])) for _, name, *numbers in rows]


def take(like: Like, one: Variable, pipeline: Iterable[tuple[int, Iterable[int], str]]) -> None:
    """`pipeline`: for each filter its number, its values, and a name for messages."""
    ours = {found.number: found for found in known()}
    for number, values, name in pipeline:
        found = ours.get(number)
        if not found:
            like.notes.append(
                f"variable {one.name}: filter {name or number} ({number}) is left out"
            )
            continue
        listed = list(values)
        place = SZIP_PLACE if found.name == "szip" else 0
        level = listed[place] if found.most and len(listed) > place else 0
        if found.name == "deflate" and not level:
            continue  # level 0 stores uncompressed
        if found.most:
            level = min(max(level, found.least), found.most)
        one.filters.append((found.name, level))
    order = [found.name for found in known()]
    one.filters.sort(key=lambda each: order.index(each[0]))


def of_netcdf(settings: dict[str, object]) -> list[tuple[int, list[int], str]]:
    """netCDF4's Variable.filters(), in the form of `take`."""
    level = settings.get("complevel")
    usual = level if isinstance(level, int) else 0
    numbers = {found.name: found.number for found in known()}
    found = []
    for name in ("shuffle", "deflate", "szip", "zstd", "fletcher32"):
        value = settings.get("zlib" if name == "deflate" else name)
        if value:
            pixels = value.get("pixels_per_block", 0) if isinstance(value, dict) else usual
            found.append((numbers[name], [0, pixels] if name == "szip" else [pixels], name))
    # Plugins that the kernels do not have.
    found += [(n, [], name) for name, n in (("bzip2", 307), ("blosc", 32001)) if settings.get(name)]
    return found


def of_text(text: str) -> list[tuple[int, list[int], str]]:
    """`_Filter` of ncdump -s: numbers and their values, `32015,3|2`."""
    found = []
    for part in text.split("|"):
        words = [word.strip().rstrip("uU") for word in part.split(",")]
        if all(word.isdecimal() for word in words):
            number, *values = map(int, words)
            found.append((number, values, ""))
    return found
