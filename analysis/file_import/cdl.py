# SPDX-License-Identifier: BSD-3-Clause
"""CDL, the text of `ncdump -h` and `ncdump -hs` (NetCDF User's Guide, "CDL Syntax")."""

import re
from typing import Any

import numpy as np

from . import filters
from .document import Attribute, CannotLikeError, Like, Member, Variable

TYPES = {
    "byte": "int8",
    "ubyte": "uint8",
    "char": "char",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "long": "int32",
    "uint": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "float": "float32",
    "real": "float32",
    "double": "float64",
}
# Suffixes of constants; without one an integer is an int, and a decimal point makes a double.
ENDINGS = {
    "b": "int8",
    "ub": "uint8",
    "s": "int16",
    "us": "uint16",
    "u": "uint32",
    "l": "int32",
    "ll": "int64",
    "ull": "uint64",
    "f": "float32",
}
# Numbers of the filters for which ncdump -s has named attributes.
SWITCHES = {"_Shuffle": 2, "_Fletcher32": 3}
DEFLATE = 1
ESCAPED = {"n": "\n", "t": "\t"}
HEAD = re.compile(r"\s*netcdf\s+(?P<name>.+?)\s*\{", re.DOTALL)
_NAME = r"(?:[^\s\\;:,()={}\"]|\\.)+"
COMPOUND = re.compile(rf"\s*compound\s+({_NAME})\s*\{{([^}}]*)\}}\s*({_NAME})?\s*;", re.DOTALL)
MEMBER = re.compile(rf"\s*({_NAME})\s+({_NAME})\s*(?:\(([\d,\s]*)\))?\s*;", re.DOTALL)
OTHER_TYPE = re.compile(  # enum, opaque, lists
    rf"\s*(?:{_NAME}\s+enum\s+{_NAME}\s*\{{[^}}]*\}}"
    rf"|opaque\s*\(\d+\)\s*{_NAME}|{_NAME}\s*\(\*\)\s*{_NAME})\s*;",
    re.DOTALL,
)
STATEMENT = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^;"])*;', re.DOTALL)
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*', re.DOTALL)
GROWN = re.compile(r";\s*//\s*\((\d+) currently\)")  # how long an unlimited dimension is
DIMENSION = re.compile(rf"({_NAME})\s*=\s*(UNLIMITED|\d+)\s*(?:\((\d+) currently\))?$", re.DOTALL)
VARIABLE = re.compile(rf"({_NAME})\s+({_NAME})\s*(?:\(([^)]*)\))?$", re.DOTALL)
ATTRIBUTE = re.compile(rf"(?:({_NAME})\s+)??({_NAME})?\s*:\s*({_NAME})\s*=\s*(.*)$", re.DOTALL)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
NUMBER = re.compile(
    r"([+-]?(?:\d[\d.]*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|NaN|Infinity|Inf))([A-Za-z]*)$"
)
SECTION = re.compile(rf"(dimensions|variables|data|types)\s*:|(group)\s*:\s*{_NAME}\s*\{{")


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _numbers(text: str, name: str, source: str) -> tuple[str, Any]:
    found: list[float | int] = []
    kind = "int32"
    for word in text.split(","):
        match = NUMBER.fullmatch(word.strip().replace("_", ""))
        ending = (match[2].lower() if match else "") or ""
        if not match or (ending and ending not in ENDINGS):
            raise CannotLikeError(
                f"{source}: attribute {name}: {word.strip()!r} is not a CDL constant"
            )
        is_float = bool(re.search(r"[.eENI]", match[1]))
        kind = ENDINGS.get(ending, "float64" if is_float else "int32")
        found.append(float(match[1]) if kind.startswith("float") else int(match[1]))
    return kind, found[0] if len(found) == 1 else found


class _Reader:
    def __init__(self, source: str) -> None:
        self.like = Like(source)
        self.by_name: dict[str, Variable] = {}
        self.compounds: dict[str, list[Member] | str] = {}

    def fail(self, statement: str) -> CannotLikeError:
        return CannotLikeError(
            f"{self.like.source}: {' '.join(statement.split())[:80]!r} is not understood; expected "
            "what `ncdump -h` prints"
        )

    def dimension(self, statement: str) -> None:
        for one in statement.split(","):
            match = DIMENSION.match(one.strip())
            if not match:
                raise self.fail(one)
            name = _plain(match[1])
            if match[2] == "UNLIMITED":
                self.like.unlimited.add(name)
            length = match[3] or 0 if match[2] == "UNLIMITED" else match[2]
            self.like.dimensions[name] = int(length)

    def variable(self, statement: str) -> None:
        kind, _, rest = statement.partition(" ")
        for one in re.findall(rf"{_NAME}\s*(?:\([^)]*\))?", rest):
            match = VARIABLE.match(f"{kind} {one.strip()}")
            if not match:
                raise self.fail(statement)
            name = _plain(match[2])
            dims = [_plain(d.strip()) for d in (match[3] or "").split(",") if d.strip()]
            for d in dims:
                if d not in self.like.dimensions:
                    raise CannotLikeError(f"{self.like.source}: variable {name}: no dimension {d}")
            compound = self.compounds.get(kind, [])
            cannot = "" if kind in TYPES else "strings" if kind == "string" else f"values of {kind}"
            if compound:
                cannot = compound if isinstance(compound, str) else ""
            made = Variable(
                name,
                "compound" if compound else TYPES.get(kind, ""),
                dims,
                cannot=cannot,
                members=[] if isinstance(compound, str) else compound,
            )
            self.like.variables.append(made)
            self.by_name[name] = made

    def types(self, text: str) -> str:
        """Parses the section of types; returns the rest. Enums and the like are rejected later."""
        while found := COMPOUND.match(text) or OTHER_TYPE.match(text):
            if found.re is COMPOUND:
                self.compounds[_plain(found[1])] = self.members(found[2])
            text = text[found.end() :]
        return text

    def statement(self, section: str, text: str) -> None:
        if section == "dimensions":
            self.dimension(text)
        elif as_attribute := ATTRIBUTE.match(text):
            self.attribute(as_attribute)
        else:
            self.variable(text)

    def members(self, text: str) -> list[Member] | str:
        made = []
        for kind, name, shape in MEMBER.findall(text):
            if kind not in TYPES:
                what = "a compound within a compound" if kind in self.compounds else kind
                return what if kind in self.compounds else f"a compound with {kind} in it"
            lengths = tuple(int(n) for n in shape.split(",") if n.strip())
            made.append(Member(_plain(name), TYPES[kind], lengths))
        return made

    def filter(self, one: Variable, name: str, value: str) -> None:
        """One of the attributes by which ncdump -s shows a variable's filters."""
        text = value.strip('"')
        number = SWITCHES.get(name)
        if number and text == "true":
            filters.take(self.like, one, [(number, [], "")])
        elif name == "_DeflateLevel" and text.isdecimal():
            filters.take(self.like, one, [(DEFLATE, [int(text)], "")])
        elif name == "_Filter":
            filters.take(self.like, one, filters.of_text(text))

    def attribute(self, match: re.Match[str]) -> None:
        owner, name, value = _plain(match[2] or ""), _plain(match[3]), match[4].strip()
        if owner and owner not in self.by_name:
            raise CannotLikeError(
                f"{self.like.source}: attribute {owner}:{name}: no variable {owner}"
            )
        if name.startswith("_") and name != "_FillValue":
            if name == "_ChunkSizes" and owner:
                _, sizes = _numbers(value, name, self.like.source)
                self.by_name[owner].chunk = np.atleast_1d(sizes).tolist()
            if owner:
                self.filter(self.by_name[owner], name, value)
            return
        to = self.by_name[owner].attributes if owner else self.like.attributes
        texts = TEXT.findall(value)
        if texts and (match[1] == "string" or TEXT.sub("", value).replace(",", "").strip()):
            self.like.notes.append(f"attribute {owner}:{name}: its strings are left out")
        elif texts:
            quoted = re.compile(r"\\(.)")
            plain = [quoted.sub(lambda m: ESCAPED.get(m[1], m[1]), text) for text in texts]
            to.append(Attribute(name, "char", "\n".join(plain)))
        else:
            to.append(Attribute(name, *_numbers(value, name, self.like.source)))


def read(text: str, source: str) -> Like:
    """`source`: the name in messages. Raises `CannotLikeError`."""
    head = HEAD.match(text)
    if not head:
        raise CannotLikeError(
            f"{source}: expected a file of NetCDF or HDF5, or the text of ncdump -h"
        )
    reader, section = _Reader(source), ""
    rest = GROWN.sub(r" (\1 currently) ;", text[head.end() :])
    rest = COMMENT.sub(lambda m: m[1] or "", rest)
    while (rest := rest.lstrip()) and not rest.startswith("}"):
        found = SECTION.match(rest)
        if found and found[2]:
            raise CannotLikeError(
                f"{source}: it has groups; expected one level with numbers and char"
            )
        # In data:units = "K" it is the name of a variable.
        if found and not (found[1] in reader.by_name and rest[found.end() :][:1].strip()):
            section, rest = found[1], rest[found.end() :]
            if section == "types":
                rest = reader.types(rest)
            continue
        match = STATEMENT.match(rest)
        if not match:
            raise reader.fail(rest)
        rest = rest[match.end() :]
        if section != "data":
            reader.statement(section, match[0][:-1].strip())
    if not rest:
        raise CannotLikeError(f"{source}: it is cut off: no }} at its end")
    return reader.like
