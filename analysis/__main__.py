"""The command line: one subcommand per module, one line each in COMMANDS."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from analysis.errors import AnalysisError

COMMANDS = ("summary", "trace")

EPILOG = """\
examples:
  python -m analysis summary            the last session as a table and a page
  python -m analysis trace              the byte ledger of the last traced run
  python -m analysis summary --help     what a command can do

exit codes:
  0  all well, every row verified
  1  some run failed, or was not verified
  2  the command line is wrong
  3  a report or a result document is missing, or cannot be used
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Turn the sessions below output/ into tables and pages.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"analysis.{name}")
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=f"Show {module.HELP}.",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; errors become one line on stderr."""
    args = _parser().parse_args(argv)
    try:
        code = int(args.run(args))
        sys.stdout.flush()  # here, so that a broken pipe is met here
        return code
    except AnalysisError as error:
        print(f"analysis: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
