# SPDX-License-Identifier: BSD-3-Clause
"""`build`: iokernel alone, for one stack."""

import argparse

from iogauge.analysis.errors import EXIT_OK, UsageError
from iogauge.common.paths import builds
from iogauge.measure import kernels

from . import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--stack", default="openmpi")
    add("--prefix", type=options.out_folder)
    add("--dir", type=options.out_folder)
    add("--for-tests", action="store_true", help=argparse.SUPPRESS)
    add("cmake", nargs="*")


def run(args: argparse.Namespace) -> int:
    if args.cmake and not args.cmake[0].startswith("-"):  # CMake would ignore it
        raise UsageError(f"{args.cmake[0]!r} is not an option of CMake; name a stack with --stack")
    if args.for_tests:
        program = kernels.build_for_tests(args.stack) / "iokernel"
    else:
        folder = (args.dir or builds() / f"measure-{args.stack}").absolute()
        program = kernels.build(args.stack, folder, *(args.cmake or kernels.RELEASE))
    if args.prefix:
        prefix = args.prefix.absolute()
        kernels.call("cmake", "--install", str(program.parent), "--prefix", str(prefix))
        program = prefix / "bin" / "iokernel"
    print(program)
    return EXIT_OK
