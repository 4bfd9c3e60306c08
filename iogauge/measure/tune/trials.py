# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of a search, each with one setting, as a session: each trial is written down as it
ends, and all of them become a report that the analysis reads like ReFrame's own.

    OUTPUT/NAME/tune.json                 what was asked for
    OUTPUT/NAME/trials.jsonl              a line for each trial, in the order of their ends
    OUTPUT/NAME/SYSTEM/host/STACK/Tune_N  its document and its script
    OUTPUT/reports/run-report-NAME.json   the report
"""

import dataclasses
import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from iogauge import version
from iogauge.analysis.errors import UsageError
from iogauge.analysis.session.loader import HARNESS
from iogauge.analysis.session.recover import write_report
from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import Stage
from iogauge.common import json_file
from iogauge.common.files import append, write_whole
from iogauge.common.hints import sort_hints
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT
from reframe_tests.machine.leftovers import own_folder

from .. import iokernel
from ..iokernel import Ended
from .space import CALL, Space, text

Kind = Literal["ok", "wrong bytes", "failed", "crashed", "hung", "too slow"]
Wish = Literal["write", "read", "both"]
KINDS: Mapping[str, Kind] = {
    "wrong bytes": "wrong bytes",
    "hung": "hung",
    "late": "too slow",
    "crashed": "crashed",
}


@dataclass(frozen=True)
class Outcome:
    """MiB/s, `seconds` of the job, `peak` in bytes of the largest process, `ignored` hints."""

    kind: Kind
    why: str = ""
    write: float | None = None
    read: float | None = None
    seconds: float = 0.0
    peak: int = 0
    ignored: tuple[str, ...] = ()

    def speed(self, wish: Wish) -> float | str:
        """For the search: MiB/s, or why there is none. Both directions: bytes over total time."""
        if self.kind != "ok":
            return f"{self.kind}: {self.why}"
        if wish == "both" and self.write and self.read:
            return 2 / (1 / self.write + 1 / self.read)
        found = self.read if wish == "read" else self.write
        return found or f"failed: it says no {wish} bandwidth"


def is_wrong(why: str) -> bool:
    return why.startswith("wrong bytes")


@dataclass(frozen=True)
class Job:
    """What all trials share. `launch`: before the program. `place`: the file system's folder."""

    launch: tuple[str, ...]
    program: Path
    pattern: tuple[str, ...]
    place: Path
    fsync: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, space: Space, arm: Config) -> tuple[list[str], dict[str, str]]:
        """The command without folder and document, and the variables of this setting."""
        hints, variables, options = split(space.places(arm))
        sorted_hints = sort_hints(hints)
        method, _, mode = dict(arm)[CALL].partition(":")
        words = [*self.launch, str(self.program), *self.pattern, "--method", method]
        words += ["--mode", mode] if mode else []
        words += [*sorted_hints.words, *options, *(["--fsync"] if self.fsync else [])]
        return words, {**sorted_hints.environment, **variables}


def split(places: Sequence[str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    hints, variables, options = dict[str, str](), dict[str, str](), list[str]()
    for place in places:
        key, _, value = place.partition("=")
        if key.startswith("--"):
            options += [key, value]
        elif key.startswith("$"):
            variables[key[1:]] = value
        else:
            hints[key] = value
    return hints, variables, options


class Runner:
    """Runs trials. Their processes end with this one, however it ends."""

    def __init__(self, job: Job, space: Space) -> None:
        self.job, self.space = job, space
        self.guard = iokernel.guard()

    def __call__(self, arm: Config, keep: Path, limit: float) -> Outcome:
        """Run one job, of at most `limit` seconds. Its document and script are kept in `keep`."""
        words, variables = self.job.command(self.space, arm)
        variables = {**self.job.environment, **variables}
        with own_folder(self.job.place) as folder:
            words += ["--dir", str(folder), "--json", str(keep / DOCUMENT)]
            lines = [f"export {key}={shlex.quote(value)}" for key, value in variables.items()]
            script = ["#!/bin/sh", *lines, shlex.join(words)]  # a record of what ran
            write_whole(keep / JOB_SCRIPT, "\n".join(script) + "\n")
            done = iokernel.execute(
                words, variables, seconds=limit, document=keep / DOCUMENT, guard=self.guard
            )
        write_whole(keep / "stderr", done.stderr)
        return outcome(done)


def outcome(done: Ended) -> Outcome:
    if done.kind != "right" or done.document is None:
        return Outcome(KINDS.get(done.kind, "failed"), done.why, seconds=done.seconds)
    summary = done.document["summary"]
    return Outcome(
        "ok",
        "",
        summary.get("write_bw"),
        summary.get("read_bw"),
        done.seconds,
        int(done.document["memory"]["peak_rss"]),
        tuple(done.document["used"]["hints_ignored"]),
    )


ASKED, TRIALS, TEST, SYSTEM = "tune.json", "trials.jsonl", "Tune", "local"
Json = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    number: int
    round: int
    stage: Stage
    arm: Config
    outcome: Outcome
    ended: float


@dataclass
class Session:
    """`asked`: what determines the trials. Nothing is written before the first has ended."""

    output: Path
    name: str
    asked: Json
    trials: list[Trial] = field(default_factory=list)

    @classmethod
    def resume(cls, output: Path, name: str) -> "Session":
        """The search of this name; the newest if it is empty. Raises UsageError."""
        if not name:
            there = sorted(path.parent.name for path in output.glob(f"2*/{ASKED}"))
            if not there:
                raise UsageError(f"--resume: {output}: expected a search, found none")
            name = there[-1]
        path = output / name / ASKED
        try:
            asked = json_file.read(path)
            found = cls(output, name, dict(asked))
            found.trials = list(found.read())
        except (json_file.Unreadable, OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--resume: {path}: expected a search: {error}") from None
        return found

    @property
    def folder(self) -> Path:
        return self.output / self.name

    def keep(self, number: int) -> Path:
        return self.folder / SYSTEM / "host" / str(self.asked["stack"]) / f"{TEST}_{number:05}"

    def read(self) -> list[Trial]:
        path = self.folder / TRIALS
        found = []
        for data in json_file.lines(path) if path.exists() else []:
            data["arm"] = tuple((name, value) for name, value in data["arm"])
            of = data["outcome"]
            data["outcome"] = Outcome(**{**of, "ignored": tuple(of["ignored"])})
            found.append(Trial(**data))
        return found

    def known(self) -> dict[tuple[int, Config], Outcome]:
        return {(trial.round, trial.arm): trial.outcome for trial in self.trials}

    def add(self, number: int, stage: Stage, arm: Config, outcome: Outcome) -> None:
        """Record a trial before the next one begins."""
        trial = Trial(len(self.trials), number, stage, arm, outcome, time.time())
        self.trials.append(trial)
        if not (self.folder / ASKED).exists():
            write_whole(self.folder / ASKED, json.dumps(self.asked, indent=1) + "\n")
        append(self.folder / TRIALS, json.dumps(dataclasses.asdict(trial)))

    def write_report(self) -> Path:
        info = {
            "uuid": f"tune-{self.name}",
            HARNESS: f"iogauge tune {version()}",
            "cmdline": str(self.asked.get("command", "tune")),
            "workdir": str(self.output.parent),
        }
        ended = max((trial.ended for trial in self.trials), default=0.0)
        cases = [self._case(trial) for trial in self.trials]
        return write_report(self.output, self.name, cases, ended, info)

    def _case(self, trial: Trial) -> Json:
        method, _, mode = dict(trial.arm)[CALL].partition(":")
        asked: Mapping[str, Any] = self.asked
        settings = text(trial.arm).partition(", ")[2].replace(", ", ",")
        name = f"{TEST} %call={dict(trial.arm)[CALL]} %settings={settings or 'none'}"
        good = trial.outcome.kind == "ok"
        return {
            "name": name,
            "display_name": f"{name} %.repeat_no={trial.round}",
            "unique_name": f"{TEST}_{trial.number:05}",
            "system": SYSTEM,
            "partition": "host",
            "environ": asked["stack"],
            "result": "pass" if good else "fail",
            "fail_reason": None if good else f"{trial.outcome.kind}: {trial.outcome.why}",
            "outputdir": str(self.keep(trial.number)),
            "stagedir": None,
            "fixture": False,
            "num_tasks": asked["processes"],
            "tags": ["tune", trial.stage],
            "fs": asked["fs"],
            "pattern": str(asked["pattern"]).split()[0],
            "scale": "_".join(str(asked["pattern"]).split()[1:]).replace("--", "") or "default",
            "method": method,
            "mode": mode,
            "perfvalues": None,
        }
