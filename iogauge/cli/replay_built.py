# SPDX-License-Identifier: BSD-3-Clause
"""`analysis replay` with kernels that are built here, and the stack's launcher.

    python -m iogauge.cli.replay_built LOG --dir DIR [--stack openmpi] [what analysis replay takes]

--iokernel and --launch are as there, where given.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from iogauge.cli.main import main as analysis
from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack


def words_of(words: Sequence[str]) -> list[str]:
    """The command line of `analysis replay`. Raises CannotBuild and UnknownStackError."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    own.add_argument("--stack", default="openmpi")
    own.add_argument("--iokernel")
    own.add_argument("--launch")
    args, rest = own.parse_known_args(words)
    if {"-h", "--help"} & set(rest) or not rest:
        return ["replay", *rest]
    program = args.iokernel or str(kernels.build_for_runs(args.stack))
    stack = Stack.of(kernels.environ(args.stack), Path(program))
    launch = args.launch or shlex.join(stack.launch)
    os.environ.update(stack.variables)
    return ["replay", *rest, "--iokernel", program, "--launch", launch]


def main(words: Sequence[str]) -> int:
    try:
        command = words_of(words)
    except (kernels.UnknownStackError, kernels.CannotBuild) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 2
    return analysis(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
