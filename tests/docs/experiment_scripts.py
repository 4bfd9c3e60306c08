# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of the documents' experiments. Are the job scripts those that the table says, and would
each of them start?"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from iogauge.common import experiments
from iogauge.common.experiments import SMOKE, Experiment
from iogauge.measure import sites
from iogauge.measure.kernels import build_for_tests
from reframe_tests.machine.calls import BY_NAME
from tests.docs import script_judge
from tests.reframe_session import ROOT, Session, reframe

Case = dict[str, Any]
# Test names with one of two calls, where a dry run of each call would take a minute more.
TWO_CALLS = "call=(posix|mpiio:collective)(%| |$)"
IOR = re.compile(r"ior -b (\d+) -t \d+ -s (\d+)")
# How many processes a script starts: a directive of its batch system, or its launcher's option.
STARTS = re.compile(
    r"^(?:#SBATCH --ntasks=|# @ total_tasks = |(?:mpiexec\S*|mpirun|runjob)\b.*? --?np? )(\d+)",
    re.MULTILINE,
)


@functools.cache
def files() -> dict[str, Path]:
    """Each test class with its file: one file loads sooner than all."""
    return {
        name: path
        for path in (ROOT / "reframe_tests" / "benchmarks").glob("*.py")
        for name in re.findall(r"^class (\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def run(system: str, some: Sequence[Experiment], output: Path, *options: str) -> list[Case]:
    settings = dict.fromkeys(setting for one in some for setting in one.settings)
    session = reframe(
        output,
        *("--system", system, "-t", f"({'|'.join(one.id for one in some)})$", *options),
        *(word for setting in settings for word in ("-S", setting)),
        config=sites.find(system),
        tests=" ".join(sorted({files()[one.test].name for one in some})),
    )
    assert (output / "reports").is_dir(), session.text
    return session.cases


def together(some: Iterable[Experiment]) -> list[list[Experiment]]:
    """Experiments that one session can have: those with settings are alone."""
    found: dict[str, list[Experiment]] = {}
    for one in some:
        found.setdefault(one.id if one.settings else "", []).append(one)
    return list(found.values())


def of(one: Experiment, cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if one.id in case["tags"]]


def site(system: str, output: Path) -> tuple[list[str], int]:
    """What is wrong with the scripts of a site's experiments, one a line; how many they are."""
    mine = [one for one in experiments.experiments() if one.site == system]
    wrong: list[str] = []
    for number, some in enumerate(together(mine)):
        cases = run(system, some, output / str(number), "--dry-run", "-T", SMOKE)
        for one in some:
            wrong += [f"{one.id}: {text}" for text in problems(one, of(one, cases))]
    scripts = sorted(output.glob("*/stage/*/*/*/*/*/rfm_job.sh"))
    return wrong + judged(scripts, system), len(scripts)


def all_tests(system: str, output: Path, *options: str) -> Session:
    """A dry run of all tests at all scales."""
    return reframe(output, "--system", system, "--dry-run", *options, config=sites.find(system))


def wrong_in(session: Session, system: str) -> list[str]:
    wrong = [case["fail_reason"] for case in session.cases if case["result"] == "fail"]
    return wrong + judged(session.scripts(), system)


def judged(scripts: Sequence[Path], system: str) -> list[str]:
    wrong: list[str] = []
    kernel = build_for_tests("mpich") / "iokernel"
    for script in scripts:
        found = script_judge.problems(script, system, kernel)
        wrong += [f"{script.parent.name}: {text}" for text in found]
    words = ["shellcheck", "--shell=bash", *map(str, script_judge.one_of_each_line(scripts))]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    return wrong + checked.stdout.splitlines()


def problems(one: Experiment, cases: Sequence[Case]) -> Iterator[str]:
    if not cases:
        yield "no test has its tag"
        return
    for case in cases:
        if case["result"] != "pass":
            yield f"{case['display_name']}: {case['skip_reason'] or case['fail_reason']}"
        else:
            yield from _of_script(one, case)
    yield from _points(one, cases)


def clients(case: Case) -> int:
    call = BY_NAME.get(case["call"])
    return int(case["num_tasks"] - (case.get("io_processes", 0) if call and call.servers else 0))


def _points(one: Experiment, cases: Sequence[Case]) -> Iterator[str]:
    """Each of the table's values, in each combination that a call allows."""
    axes = {**one.choose, **one.at}
    alone = {name for name in axes.get("call", ()) if name in BY_NAME and BY_NAME[name].processes}
    wanted = {
        point
        for point in product(*axes.values())
        if not alone
        or (dict(zip(axes, point, strict=True))["call"] in alone)
        == (dict(zip(axes, point, strict=True))["processes"] == "1")
    }
    found = {tuple(str(case[name]) for name in axes) for case in cases}
    for point in sorted(wanted ^ found):
        which = "no script" if point in wanted else "a script too many"
        yield f"{which} of {dict(zip(axes, point, strict=True))}"
    counts = set(map(clients, cases))
    if one.process_counts and counts != set(one.process_counts):
        yield f"processes {sorted(counts)}, the table has {sorted(one.process_counts)}"


def _of_script(one: Experiment, case: Case) -> Iterator[str]:
    text = (Path(case["stagedir"]) / "rfm_job.sh").read_text()
    name = case["display_name"]
    started = {int(number) for number in STARTS.findall(text)}
    if started != {case["num_tasks"]}:
        yield f"{name}: its script starts {sorted(started)} processes, not {case['num_tasks']}"
    call = BY_NAME.get(case["call"])
    words = [*one.words, *(call.options if call else ())]
    for word in words:
        if word.format(**case) not in text:
            yield f"{name}: its script has no {word.format(**case)!r}"
    if one.total_bytes:
        (block, segments), *_ = IOR.findall(text)
        if (total := int(block) * int(segments) * clients(case)) != one.total_bytes:
            yield f"{name}: {total} bytes in all, the table has {one.total_bytes}"
