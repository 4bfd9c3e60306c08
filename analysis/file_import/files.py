# SPDX-License-Identifier: BSD-3-Clause
"""Files of NetCDF by netCDF4, of HDF5 (and CGNS) by h5py, and the text of ncdump."""

import importlib
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..darshan.child import set_limits
from . import cdl, cgns, filters
from .document import Attribute, CannotLikeError, Like, Variable, attribute, members

HDF5, CLASSIC = b"\x89HDF\r\n\x1a\n", b"CDF"
MOST_TEXT = 1 << 24
SECONDS = 60  # of CPU
MOST_MEMORY = 1 << 33  # of the child
# What NetCDF-4 adds to HDF5 for itself.
HIDDEN = (
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_NCProperties",
    "_nc3_strict",
)


def load(path: Path) -> Like:
    """`CannotLikeError` if it cannot be read; its dimensions may still be unlimited or empty. By a
    child: some damaged files make a library crash or run for ever."""
    limits = [(resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MOST_MEMORY)]
    try:
        with ProcessPoolExecutor(1, get_context("fork"), set_limits, (limits,)) as pool:
            return pool.submit(_load, path).result()
    except (KeyError, OSError, RuntimeError, UnicodeDecodeError, MemoryError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        if isinstance(problem, BrokenProcessPool):
            why = f"its library crashed, or did not end in {SECONDS} s of CPU time"
        raise CannotLikeError(
            f"{path}: cannot be read ({why}); expected a whole NetCDF or HDF5 file, or the text "
            "of ncdump -h"
        ) from None


def _load(path: Path) -> Like:
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(CLASSIC) and start != b"CDF":
        return _netcdf(path)
    if start == HDF5 or _has_user_block(path):
        return _netcdf(path) if _is_netcdf4(path) else _hdf5(path)
    if path.stat().st_size > MOST_TEXT:
        raise CannotLikeError(f"{path}: expected a file of NetCDF or HDF5, or text of ncdump -h")
    return cdl.read(path.read_text(encoding="utf-8", errors="strict"), str(path))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CannotLikeError(
            f"{name} is needed to read this file: {sys.executable} -m pip install {name}, or give "
            "the text of ncdump -hs"
        ) from None


def _has_user_block(path: Path) -> bool:
    """HDF5 may begin at byte 512, 1024, 2048, ..."""
    with path.open("rb") as file:
        for power in range(9, path.stat().st_size.bit_length()):
            file.seek(2**power)
            if file.read(len(HDF5)) == HDF5:
                return True
    return False


def _is_netcdf4(path: Path) -> bool:
    with _library("h5py").File(path) as file:
        return "_NCProperties" in file.attrs or any(
            "_Netcdf4Dimid" in one.attrs for one in file.values() if one is not None
        )


def _attributes(like: Like, of: str, pairs: list[tuple[str, Any]]) -> list[Attribute]:
    found = []
    for name, values in pairs:
        if made := attribute(name, values):
            found.append(made)
        else:
            like.notes.append(f"attribute {of}{name}: its type is left out")
    return found


def _netcdf(path: Path) -> Like:
    netcdf = _library("netCDF4")
    like = Like(str(path))
    try:
        root = netcdf.Dataset(path)
    except OSError:
        _refuse_dangling_link(path)
        raise
    with root:
        _netcdf_group(netcdf, like, root, "")
    return like


def _refuse_dangling_link(path: Path) -> None:
    """NetCDF opens no file with one, and does not say so."""
    with suppress(OSError), _library("h5py").File(path) as file:
        groups = [file]
        file.visititems(lambda _, one: groups.append(one) if hasattr(one, "items") else None)
        for group in groups:
            for name, found in group.items():
                if found is None:
                    link = f"{group.name.rstrip('/')}/{name}"
                    target = group.get(name, getlink=True).path
                    raise CannotLikeError(
                        f"{path}: link {link} leads to {target}, which is not there, and NetCDF "
                        f"opens no file with such a link; remove it: h5py's del file['{link}']"
                    )


def _netcdf_group(netcdf: Any, like: Like, group: Any, prefix: str) -> None:
    for name, dim in group.dimensions.items():
        like.dimensions[prefix + name] = len(dim)
        if dim.isunlimited():
            like.unlimited.add(prefix + name)
    pairs = [(name, group.getncattr(name)) for name in group.ncattrs()]
    if not prefix:
        like.attributes = _attributes(like, ":", pairs)
    elif pairs:
        like.notes.append(f"group {prefix}: its attributes are left out")
    for name, variable in group.variables.items():
        _netcdf_variable(netcdf, like, variable, prefix + name)
    for name, below in group.groups.items():
        _netcdf_group(netcdf, like, below, f"{prefix}{name}/")


def _netcdf_variable(netcdf: Any, like: Like, variable: Any, name: str) -> None:
    kind = variable.datatype
    what = {netcdf.VLType: "lists of variable length", netcdf.EnumType: "an enum"}
    cannot = "strings" if variable.dtype is str else what.get(type(kind), "")
    compound = members(kind.dtype) if isinstance(kind, netcdf.CompoundType) else []
    if cannot or isinstance(compound, str):
        like.variables.append(Variable(name, "", [], cannot=cannot or str(compound)))
        return
    chunk = variable.chunking()
    pairs = [(key, variable.getncattr(key)) for key in variable.ncattrs()]
    text = "char" if variable.dtype.kind == "S" else variable.dtype.name
    dims = [f"{d.group().path}/{d.name}".strip("/") for d in variable.get_dims()]
    made = Variable(
        name,
        "compound" if compound else text,
        dims,
        [int(n) for n in chunk] if isinstance(chunk, list) and dims else None,
        attributes=_attributes(like, f"{name}:", pairs),
        members=compound,
    )
    filters.take(like, made, filters.of_netcdf(variable.filters() or {}))
    like.variables.append(made)


def _hdf5(path: Path) -> Like:
    h5py = _library("h5py")
    like = Like(str(path))
    with h5py.File(path) as file:
        if cgns.is_cgns(file):
            cgns.read(like, file, lambda name, found: _hdf5_dataset(h5py, like, name, found))
            return like
        like.attributes = _hdf5_attributes(like, ":", file)
        _say_links(h5py, like, file)
        file.visititems(lambda name, found: _visit(h5py, like, name, found))
    return like


def _visit(h5py: Any, like: Like, name: str, found: Any) -> None:
    if isinstance(found, h5py.Group):
        _say_links(h5py, like, found)
    if isinstance(found, h5py.Dataset):
        _hdf5_dataset(h5py, like, name, found)
    elif len(found.attrs):
        like.notes.append(f"group {name}: its attributes are left out")


def _say_links(h5py: Any, like: Like, group: Any) -> None:
    """Soft and external links are not followed."""
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            where = f"{getattr(link, 'filename', '')} {link.path}".strip()
            like.notes.append(f"link {group.name.strip('/')}/{name} to {where}: is left out")


def _hdf5_attributes(like: Like, of: str, found: Any) -> list[Attribute]:
    pairs = []
    for name in found.attrs:
        if name not in HIDDEN:
            try:
                pairs.append((name, found.attrs[name]))
            except TypeError:  # NumPy lacks its type
                pairs.append((name, None))
    return _attributes(like, of, pairs)


def _cannot(h5py: Any, found: Any) -> str:
    """Content of a data set that no pattern can hold, as text; "" for what one can."""
    try:
        kind = found.dtype
    except TypeError:
        return "values of a type that NumPy lacks"
    what = _hdf5_kind(h5py, kind) or ("nothing" if found.shape is None else "")
    size = found.id.get_type().get_size()
    return what or f"values of {size} bytes that NumPy lacks" * (size != kind.itemsize)


def _hdf5_kind(h5py: Any, kind: Any) -> str:
    """Content that no pattern can hold, as text; "" for numbers and characters."""
    for test, what in (
        (h5py.check_string_dtype, "strings"),
        (h5py.check_enum_dtype, "an enum"),
        (h5py.check_vlen_dtype, "lists of variable length"),
        (h5py.check_ref_dtype, "references"),
    ):
        if test(kind) and not (what == "strings" and kind.itemsize == 1):
            return what
    if kind.fields:
        for name in kind.names:
            if inner := _hdf5_kind(h5py, (kind[name].subdtype or (kind[name],))[0]):
                return f"a compound with {inner} in it"
        return ""
    held = kind.kind in "iuS" or kind.name in ("float32", "float64")
    return "" if held else f"values of {kind.name}"


def _hdf5_dataset(h5py: Any, like: Like, name: str, found: Any) -> Variable:
    """HDF5 dimensions have no names: place (from the last) and length name them."""
    what = _cannot(h5py, found)
    compound = members(found.dtype) if not what and found.dtype.fields else []
    if what or isinstance(compound, str):
        like.variables.append(Variable(name, "", [], cannot=what or str(compound)))
        return like.variables[-1]
    dims = []
    for i, (length, most) in enumerate(zip(found.shape, found.maxshape, strict=True)):
        dims.append(f"axis{len(found.shape) - i}_{length}")
        like.dimensions[dims[-1]] = int(length)
        if most is None:
            like.unlimited.add(dims[-1])
    kind = "char" if found.dtype.kind == "S" else found.dtype.name
    if compound:
        kind = "compound"
        if found.dtype.itemsize > sum(one.bytes() for one in compound):
            like.notes.append(f"variable {name}: the gaps between its members are left out")
    if found.is_virtual or found.external:
        kind_of = "virtual data set" if found.is_virtual else "data set in other files"
        like.notes.append(f"variable {name}: a {kind_of}, which becomes a plain one")
    chunk = [int(n) for n in found.chunks] if found.chunks else None
    made = Variable(name, kind, dims, chunk, members=compound)
    made.attributes = _hdf5_attributes(like, f"{name}:", found)
    plist = found.id.get_create_plist()
    pipeline = [plist.get_filter(i) for i in range(plist.get_nfilters())]
    filters.take(like, made, [(n, values, who.decode()) for n, _, values, who in pipeline])
    like.variables.append(made)
    return made
