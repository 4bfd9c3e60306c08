# SPDX-License-Identifier: BSD-3-Clause
"""A CGNS file on HDF5: the arrays of its zones, and the role of each. A node is a group with its
kind in the attribute `label` and its array in a data set " data" (SIDS File Mapping Manual)."""

from collections.abc import Callable, Iterator
from typing import Any

from .document import Like, Place, Variable

VERSION, DATA = "CGNSLibraryVersion", " data"
# ElementType_t by its number in the file: the number of corners, if fixed.
CORNERS = {10: 4, 12: 5, 14: 6, 17: 8}
ZONES, ARRAY = "Zone_t", "DataArray_t"
# Where a zone's arrays are, and the role under which `iokernel`'s method cgns writes them.
ROLES = {
    "GridCoordinates_t": "coordinate",
    "FlowSolution_t": "field",
    "Elements_t": "connectivity",
    "UserDefinedData_t": "user-array",
}


def is_cgns(file: Any) -> bool:
    return VERSION in file and label(file[VERSION]) == VERSION + "_t"


def label(found: Any) -> str:
    text = found.attrs.get("label", b"")
    return str(text.decode("ascii", "replace") if isinstance(text, bytes) else text)


def _below(group: Any, kind: str) -> Iterator[Any]:
    yield from (one for one in group.values() if hasattr(one, "values") and label(one) == kind)


def read(like: Like, file: Any, take: Callable[[str, Any], Variable]) -> None:
    """`take`: puts a variable of that name, from a data set, into `like`."""
    arrays = 0
    for base in _below(file, "CGNSBase_t"):
        for zone in _below(base, ZONES):
            arrays += _zone(like, zone, take)
    like.notes.append(
        f"CGNS: {arrays} arrays of zones; other nodes are left out, such as boundary "
        "conditions and reference states"
    )


def _zone(like: Like, zone: Any, take: Callable[[str, Any], Variable]) -> int:
    """A zone's arrays in the order that method cgns requires: coordinates first."""
    shape, arrays = (), 0
    for kind, role in ROLES.items():
        first = ""
        for parent in _below(zone, kind):
            for node in _below(parent, ARRAY):
                corners = node.name.endswith("/ElementConnectivity")
                if DATA not in node or (role == "connectivity" and not corners):
                    continue
                made = take(node.name.strip("/"), node[DATA])
                arrays += 1
                if made.cannot:
                    continue
                if role == "coordinate":
                    shape = shape or node[DATA].shape
                why = _why_not(role, node[DATA], shape)
                if role == "connectivity":
                    why = _corners(like, made, parent)
                if not why and first not in ("", parent.name):
                    why = f"its zone has another {role} before it, and it writes one group of them"
                if why:
                    like.notes.append(f"variable {made.name}: method cgns cannot write it: {why}")
                    continue
                first = parent.name
                name = parent.name if role == "connectivity" else node.name
                made.place = Place(zone.name, role, name.rsplit("/", 1)[-1])
    return arrays


def _why_not(role: str, data: Any, shape: tuple[int, ...]) -> str:
    if role in ("coordinate", "field") and len(shape) not in (1, 3):
        return f"its zone has {len(shape)} dimensions; expected 1 (unstructured) or 3"
    if role in ("coordinate", "field") and data.shape != shape:
        return "its values are not at vertices"
    if role == "user-array" and len(data.shape) != 1:
        return "it has more than one dimension"
    return ""


def _corners(like: Like, made: Variable, section: Any) -> str:
    """A list of corners becomes a list of elements, which are never split."""
    kind = int(section[DATA][0]) if DATA in section else 0
    corners = CORNERS.get(kind)
    (length,) = (like.dimensions[name] for name in made.dimensions)
    if not corners or length % corners:
        return f"its elements are of type {kind}; it writes tetrahedra, pyramids, prisms, hexahedra"
    made.dimensions = [f"elements_{length // corners}", f"corners_{corners}"]
    like.dimensions |= {made.dimensions[0]: length // corners, made.dimensions[1]: corners}
    made.chunk = None
    if made.type != "int64":
        return f"its corners are {made.type}, and it writes int64"
    return ""
