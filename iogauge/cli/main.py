# SPDX-License-Identifier: BSD-3-Clause
# PYTHON_ARGCOMPLETE_OK
"""The command line: one subcommand per module, one line each in COMMANDS."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from iogauge import version
from iogauge.analysis.errors import EXIT_DATA, LONGEST, AnalysisError
from iogauge.common import tables
from iogauge.common.text import one_line

# The module of each command is loaded only when it is asked for: some load large libraries. It has
# `add_arguments(parser)`, `run(args)` and the text EXAMPLES.
COMMANDS = {
    "summary": "the last session as a table, on request also as a page with one plot",
    "ingest": "put sessions into the store, where all other commands find them",
    "recover": "sessions that were killed, from what their finished cases left",
    "compare": "is B faster than A: sessions, stacks, methods, hints, file systems, dates",
    "history": "how fast each case was over time, when that changed, and what changed with it",
    "baseline": "acknowledges changes of histories, with who, when and why: set, list, remove",
    "learn": "what to expect of a system, from its history, as a file of references",
    "accept": "does a session keep what an acceptance.yaml promises, case by case",
    "bundle": "a session with its raw data and verdicts, as one file that others can verify",
    "verify-bundle": "is a bundle what it says: every hash and verdict computed anew",
    "export": "for other programs: metrics for Prometheus, JUnit XML, a timeline for Perfetto",
    "claims": "what publications say, put to the test with the runs of the store",
    "report": "one page of a session with scaling, publications, claims and history",
    "trace": "what a run did: its byte ledger, and pictures of its trace",
    "replay": "a traced program as it was, verified, and what would have been faster",
    "plan-replay": "makes a schedule of a trace, which `iokernel replay --schedule` replays",
    "replay-check": "is a replay like what it replays: bytes, calls, order, and time of each phase",
    "plan-like": "reads what a file of yours holds, and `iokernel file --like` writes one like it",
    "blame": "who raced: accesses of several processes to the same bytes without order",
    "why": "what held a run up: phase, process, layer, calls, and what to try",
    "certificate": "which stacks and settings wrote right bytes, by the runs of make certificate",
    "advise": "the fastest method, mode and hints seen for a pattern, and their files",
}

EPILOG = """\
examples:
  iogauge summary                  the last session as a table
  iogauge compare openmpi mpich --by stack --where pattern=s3d
  iogauge claims                   what publications say, and whether it holds here
  iogauge report                   the last session as a page: output/report.html
  iogauge trace                    the byte ledger of the last traced run
  iogauge advise --pattern s3d --system local
  iogauge compare --help           what a command can do

exit codes:
  0  all well: every row verified, no gate broken
  1  the answer is bad: a run failed or was not verified, a gate such as --fail-slower is broken
  2  the command line is wrong
  3  a report, a result document, a reference file or the store is missing, or cannot be used

shell completion (bash, zsh):
  source .venv/bin/activate; eval "$(activate-global-python-argcomplete --dest=-)"
"""


class _Parser(argparse.ArgumentParser):
    """A wrong word is shown as one line, whatever it holds."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message, LONGEST))


def _parser(wanted: Sequence[str]) -> argparse.ArgumentParser:
    """All commands by name; those `wanted` with their arguments too."""
    parser = _Parser(
        prog="iogauge",
        description="Turn the sessions below output/ into tables, pages and answers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"iogauge {version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        if name not in wanted:
            commands.add_parser(name, help=text, add_help=False)
            continue
        module = importlib.import_module(f"{__package__}.{name.replace('-', '_')}")
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _complete() -> None:
    """Answer a shell that asks for completions, and end; else do nothing."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        words = os.environ.get("COMP_LINE", "").split()
        argcomplete.autocomplete(_parser([name for name in COMMANDS if name in words]))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; errors become one line on stderr."""
    _complete()
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser([name for name in COMMANDS if name in words]).parse_args(words)
    try:
        code = int(args.run(args))
        sys.stdout.flush()  # here, so that a broken pipe is met here
        return code
    except AnalysisError as error:
        return _failed(str(error), error.exit_code)
    except tables.BadTable as error:  # a file of this package is missing or broken
        return _failed(str(error), EXIT_DATA)
    except KeyboardInterrupt:
        return 130  # as a shell reports SIGINT
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports SIGPIPE
    except OSError as error:  # a file or folder that this user may not read, a disk that is full
        return _failed(f"{error.filename}: {error.strerror}", EXIT_DATA)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("_duckdb", "duckdb"):
            raise
        # A file that passed for a session of the store, and is none.
        return _failed(f"the store: {' '.join(str(error).split())}", EXIT_DATA)


def _failed(message: str, code: int) -> int:
    print(f"iogauge: {one_line(message, LONGEST)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
