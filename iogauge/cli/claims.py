# SPDX-License-Identifier: BSD-3-Clause
"""`claims`: do published claims hold in the store's runs?"""

import argparse
from collections.abc import Sequence

from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.judge import references
from iogauge.analysis.judge.claims import Claim, Judged, judge, load, runs_for
from iogauge.analysis.pages import claim_text
from iogauge.common import progress

from . import formats, options

COLUMNS = ("claim", "verdict", "says", "cases", "measured", "published", "missing")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("claims", nargs="*")
    add("--run", action="store_true", dest="measure")
    add("--oversubscribe", action="store_true")
    add("--stack", type=options.names, default=[])
    add("--parent", type=int, help=argparse.SUPPRESS)
    options.add_where(parser)
    add("--references", type=options.in_path, default=references.FOLDER)
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    claims = load(args.references, args.claims)
    if args.measure:
        return _measure(args, claims)
    db = options.connect(args)
    runs = runs_for(claims, db, options.where(args, db))
    judged = [judge(runs, claim) for claim in progress.steps(claims, "claims")]
    if formats.for_programs(args):
        formats.show(args, [claim_text.row(one) for one in judged], COLUMNS)
        return EXIT_OK
    for one in judged:
        _print(one)
    return EXIT_OK


def _measure(args: argparse.Namespace, claims: Sequence[Claim]) -> int:
    options.need_checkout("claims --run")
    from iogauge.measure import run_session, sites  # here: they need ReFrame and a checkout
    from iogauge.measure.session import measuring_session
    from iogauge.measure.sites import Asked

    from .run import use

    use(args.stack)
    site = sites.find(sites.LOCAL)
    asked = Asked(site, sites.LOCAL, ("--exec-policy=serial",))
    with measuring_session("iogauge claims --run", args.parent) as child:
        return run_session.judge(
            child, args.claims, claims, asked.options(), everything=args.oversubscribe
        )


def _print(judged: Judged) -> None:
    from rich.console import Console

    from iogauge.analysis.pages.screen import shown

    styles = {"reproduced": "bold green", "contradicted": "bold red"}
    console = Console(highlight=False, soft_wrap=True)
    row = claim_text.row(judged)
    verdict = shown(row["verdict"], styles.get(row["verdict"], "yellow"))
    cases = f" ({row['cases']} cases)" if row["cases"] else ""
    name = shown(f"{row['claim']:<4}", "bold")
    console.print(name + verdict + shown(f"{cases}: {row['says']}"))
    for line in row["measured"]:
        console.print(shown(f"       {line}"))
    for origin in claim_text.origins(judged):
        console.print(shown(f"       published of: {origin}"))
    if judged.missing:
        console.print(shown(f"       missing: {'; '.join(judged.missing)}"))
        for command in judged.commands:
            console.print(shown(f"       supply:  {command}", "dim"))
