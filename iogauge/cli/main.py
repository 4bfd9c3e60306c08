# SPDX-License-Identifier: BSD-3-Clause
# PYTHON_ARGCOMPLETE_OK
"""The command line: find the command in the table, load its module, run it."""

import argparse
import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from iogauge import version
from iogauge.analysis.errors import EXIT_DATA, EXIT_USAGE, LONGEST, AnalysisError
from iogauge.cli import options, table
from iogauge.common import paths, tables
from iogauge.common.files import CannotWrite
from iogauge.common.text import nearest, notice, one_line, unknown

USAGE = "usage: iogauge VERB [OPTION ...]; iogauge help VERB shows options and examples"


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, with the nearest correct word."""

    def error(self, message: str) -> NoReturn:
        notice(f"iogauge: {one_line(message, LONGEST)}\nFor its options: {self.prog} --help")
        raise SystemExit(EXIT_USAGE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown(str(value), map(str, action.choices)))

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Options stand before, between or behind the arguments, and are taken before them.
        (`parse_intermixed_args` would take a file `-x` behind `--` for an option.)"""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        own = list(itertools.takewhile(lambda word: word != "--", words))
        for option in (word.partition("=")[0] for word in own if word.startswith("--")):
            # With blanks, it is a value.
            if " " not in option and not any(name.startswith(option) for name in known):
                self.error(f"option {_unknown(option, known)}")
        self.usage = self.format_usage().partition(": ")[2].replace("%", "%%")  # of all, for --help
        arguments, rest = self._get_positional_actions(), words[len(own) :]
        self._actions = self._get_optional_actions()
        args, more = self.parse_known_args(own)
        if arguments and str(arguments[-1].metavar).startswith("-- "):  # its words are only those
            setattr(args, arguments.pop().dest, list(rest[1:]))
            rest = []
        self._actions = arguments
        args, more = self.parse_known_args([*more, *rest], args)
        if more:
            if more[0].startswith("-"):
                self.error(f"unknown option {more[0]!r}")
            stack = f"; to name a stack: --stack {more[0]}" if "--stack" in known else ""
            self.error(f"unexpected word {more[0]!r}{stack}")
        return args


def _unknown(word: str, known: Sequence[str]) -> str:
    """The message for an unknown word, without the list of all, which `--help` shows."""
    return unknown(word, known) if nearest(word, known) else f"{word!r} is unknown"


def _fill(parser: argparse.ArgumentParser, command: table.Command) -> None:
    name, _, part = command.module.partition(":")
    module = importlib.import_module(f"{__package__}.{name}")
    end = "" if command.help.endswith("?") else "."
    parser.description = f"{command.help[0].upper()}{command.help[1:]}{end}"
    parser.epilog = command.examples()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    getattr(module, f"add_{part or 'arguments'}")(parser)
    for action in parser._actions:
        row = table.option(command, (action.option_strings or [action.dest])[0])
        action.help = action.help or row.get("help")
        action.metavar = row.get("metavar") or None
    parser.set_defaults(run=getattr(module, f"run_{part}" if part else "run"))


def parser_of(command: table.Command) -> _Parser:
    parser = _Parser(prog=f"iogauge {command.name}")
    _fill(parser, command)
    return parser


def _complete() -> None:
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    parser = argparse.ArgumentParser(prog="iogauge")
    verbs = parser.add_subparsers()
    for verb in table.VERBS:
        of_verb = verbs.add_parser(verb)
        commands = {c.name.partition(" ")[2]: c for c in table.of(verb) if verb in words}
        if "" in commands and (len(commands) == 1 or any(word[0] == "-" for word in words)):
            _fill(of_verb, commands[""])
            continue
        subs = of_verb.add_subparsers() if commands else None
        for sub, command in commands.items():
            if subs and sub:
                own = subs.add_parser(sub)
                if sub in words:
                    _fill(own, command)
    argcomplete.autocomplete(parser)


def _find(words: list[str]) -> tuple[table.Command, list[str]]:
    """The command that `words` name, and the remaining words. Exits for help and version."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"] if len(words) > 1 else []
    if words in (["--version"], ["-V"]):
        print(f"iogauge {version()}")
        raise SystemExit(0)
    if not words or words[0] in table.HELP:
        print(table.screen(USAGE))
        if words == ["--help"]:
            text = (table.HELP_TEXTS / "exit-status.txt").read_text(encoding="utf-8")
            print(f"\n{text}", end="")
        raise SystemExit(0)
    if found := table.renamed(words):
        old, new = found
        notice(f"iogauge: {old!r} is now {new!r}")
        words = [*new.split(), *words[len(old.split()) :]]
    verb, *rest = words
    if verb not in table.VERBS:
        known = [*table.VERBS, *table.OLD, *table.HELP, "--version"]
        _Parser(prog="iogauge").error(_unknown(verb, known))
    nested = f"{verb} {rest[0]}" if rest else verb
    if nested in table.BY_NAME and rest:
        return table.BY_NAME[nested], rest[1:]
    if verb in table.BY_NAME:
        return table.BY_NAME[verb], rest
    return _sub_verbs(verb, rest)


def _sub_verbs(verb: str, rest: Sequence[str]) -> NoReturn:
    commands = table.of(verb)
    names = [command.name.split()[1] for command in commands]
    if rest and rest[0] not in table.HELP:
        _Parser(prog=f"iogauge {verb}").error(f"{verb}: {unknown(rest[0], names)}")
    out = sys.stdout if rest else sys.stderr
    print(f"usage: iogauge {verb} {'|'.join(names)} [OPTION ...]\n", file=out)
    for command in commands:
        print(f"  {command.name:<16} {command.help}", file=out)
    raise SystemExit(0 if rest else EXIT_USAGE)


def _run(words: list[str]) -> int:
    command, words = _find(words)
    if command.in_checkout:
        options.need_checkout(command.name)
    args = parser_of(command).parse(words)
    return int(args.run(args)) or (EXIT_DATA if getattr(args, "damaged", False) else 0)


def main(argv: Sequence[str] | None = None) -> int:
    _complete()
    try:
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        finally:
            print(end="", flush=True)  # notices a broken pipe or a full disk
    except KeyboardInterrupt:
        return 130  # as a shell reports SIGINT
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe: else Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports SIGPIPE
    except Exception as error:
        if (expected := _expected(error)) is None:
            raise
        message, code = expected
        notice(f"iogauge: {one_line(message, LONGEST)}")
        return code


def _expected(error: Exception) -> tuple[str, int] | None:
    """The message and exit status; None for a mistake in this program."""
    if isinstance(error, AnalysisError):
        return str(error), error.exit_code
    if isinstance(error, tables.BadTable | CannotWrite):  # a file of this package; a user's
        return str(error), EXIT_USAGE if isinstance(error, CannotWrite) else EXIT_DATA
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("iogauge"):
        right = paths.CHARTS if error.name in options.CHARTS else paths.SET_UP
        return f"{sys.executable} has no package {error.name!r}: {right}", EXIT_USAGE
    if isinstance(error, OSError):  # an unreadable file or folder, a full disk
        return f"{error.filename or 'output'}: {error.strerror}", EXIT_DATA
    if type(error).__module__.partition(".")[0] in ("_duckdb", "duckdb"):
        # A file that looked like a session of the store.
        return f"the store: {' '.join(str(error).split())}", EXIT_DATA
    return None


if __name__ == "__main__":
    sys.exit(main())
