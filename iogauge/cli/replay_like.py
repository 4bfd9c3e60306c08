# SPDX-License-Identifier: BSD-3-Clause
"""`replay like`: what a user's file holds, for `iokernel file`."""

from __future__ import annotations

import argparse
import json
import sys

from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.file_import import document, files, maps

from . import formats, options

EXAMPLES = """\
examples:
  iogauge replay like output.nc -o output.like --length time=1
  ncdump -hs output.nc > output.cdl; iogauge replay like output.cdl -o output.like
  iogauge replay like mesh.h5 -o mesh.like --skip names --list ncol=piodecomp16.dat
  mpiexec -n 32 iokernel file --like output.like --procs-grid 4x4x2 --method pnetcdf --dir .

Names, types, dimensions, attributes and chunks are taken over, never the values: iokernel computes
its own. What is left out is printed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=options.in_file,
        help="a file of NetCDF or HDF5 (also CGNS), or the text of ncdump -h",
    )
    parser.add_argument(
        "-o", "--out", type=options.out_file, required=True, metavar="FILE", help="the document"
    )
    parser.add_argument(
        "--length", action="append", default=[], metavar="DIM=N",
        help="another length of a dimension; needed for one that is unlimited; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME",
        help="this variable alone; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME",
        help="without this variable; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--list", action="append", default=[], metavar="DIM=MAP",
        help="cut this dimension, or these with commas, as a decomposition map of PIO says; may be "
        "repeated",
    )  # fmt: skip
    parser.add_argument("--contiguous", action="store_true", help="leave the file's chunks out")
    formats.add_format(parser, "what the document holds")


def _pairs(option: str, words: list[str], right: str) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise document.CannotLikeError(f"{option} {word}: right is {right}")
        found[name] = value
    return found


def _lengths(words: list[str]) -> dict[str, int]:
    found = _pairs("--length", words, "a dimension and a number above 0, such as time=1")
    for name, value in found.items():
        if not value.isdecimal() or not int(value):
            raise document.CannotLikeError(
                f"--length {name}={value}: right is a whole number above 0, such as {name}=1"
            )
    return {name: int(value) for name, value in found.items()}


def run(args: argparse.Namespace) -> int:
    like = files.load(args.file)
    document.narrow(like, args.only, args.skip)
    document.resize(like, _lengths(args.length))
    lists = _pairs("--list", args.list, "a dimension and a file, such as ncol=piodecomp16.dat")
    maps.take(like, lists)
    document.check(like)
    if args.contiguous:
        document.forget_chunks(like)
    document.write(like, args.out)
    found = {
        "variables": len(like.variables),
        "dimensions": len(like.dimensions),
        "attributes": len(like.attributes) + sum(len(v.attributes) for v in like.variables),
        "bytes": like.bytes(),
    }
    if args.json:
        json.dump({**found, "said": like.said}, sys.stdout, indent=1)
        print()
    elif args.csv:
        formats.write_csv([found], ())
    else:
        print(", ".join(f"{value} {name}" for name, value in found.items()))
        for line in like.said:
            print(f"  {line}")
    options.say_written(args.out)
    return EXIT_OK
