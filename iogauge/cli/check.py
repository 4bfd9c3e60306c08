# SPDX-License-Identifier: BSD-3-Clause
"""`check`: does a session meet the bounds of an acceptance.yaml?"""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from iogauge.analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK, NothingFoundError
from iogauge.analysis.judge.selection import interrupted, session_condition
from iogauge.analysis.store import keys
from iogauge.analysis.store.database import Where
from iogauge.common.text import notice

from . import formats, options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=options.in_file)
    parser.add_argument("--session", default="last")
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    from iogauge.analysis.judge import acceptance  # here: numpy is slow to load

    promised = acceptance.read(args.file)
    db = options.connect(args)
    for name, key in acceptance.keys(promised):
        keys.check(db, f"{args.file}: case {name!r}:", [key])
    for session in interrupted(db, Where(), "session", [args.session]):
        notice(f"session {session} was interrupted: cases are missing in it")
    sql, values = session_condition(db, args.session)
    chosen = Where().also(sql, *values)
    if not db.execute(f"SELECT 1 FROM records WHERE {sql} LIMIT 1", values).fetchone():
        raise NothingFoundError(f"the store has no session {args.session!r}")
    rows = acceptance.verdicts(db, promised, chosen)
    formats.show(args, rows, acceptance.COLUMNS)
    notice(f"{promised.name}: {in_words(rows)}")
    return exit_status(rows)


def exit_status(rows: Sequence[dict[str, Any]]) -> int:
    verdicts = {row["verdict"] for row in rows}
    if verdicts - {"met", "not decided yet"}:
        return EXIT_NOT_VERIFIED
    return EXIT_DATA if "not decided yet" in verdicts else EXIT_OK


def in_words(rows: Sequence[dict[str, Any]]) -> str:
    """`12 met, 1 not met: not accepted in this session`."""
    counts = Counter(str(row["verdict"]) for row in rows)
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    word = {EXIT_OK: "accepted", EXIT_NOT_VERIFIED: "not accepted", EXIT_DATA: "not decided"}
    return f"{text}: {word[exit_status(rows)]} in this session"
