# SPDX-License-Identifier: BSD-3-Clause
"""A search as a session: each trial is written down as it ends, and all of them become a report
that the analysis reads like ReFrame's own.

    OUTPUT/NAME/tune.json                 what was asked for
    OUTPUT/NAME/trials.jsonl              a line for each trial, in the order of their ends
    OUTPUT/NAME/SYSTEM/host/STACK/Tune_N  its document and its script
    OUTPUT/reports/run-report-NAME.json   the report

A search that was stopped goes on where the lines end: its course follows from them
(analysis/statistics/tuning_search.py).
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from iogauge import version
from iogauge.analysis.session.loader import HARNESS, REPORTS
from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import Stage
from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.run_folder import BEGAN
from iogauge.measure.tune.space import CALL, text
from iogauge.measure.tune.trial import Outcome

ASKED, TRIALS, TEST, SYSTEM = "tune.json", "trials.jsonl", "Tune", "local"
Json = dict[str, Any]


class NoSuchSearchError(Exception):
    """There is none of this name, or its files cannot be read."""


@dataclass(frozen=True)
class Trial:
    """One job of a search."""

    number: int
    round: int
    stage: Stage
    arm: Config
    outcome: Outcome
    ended: float


@dataclass
class Session:
    """`asked`: what the command line said, as far as it decides what is run."""

    output: Path
    name: str
    asked: Json
    trials: list[Trial] = field(default_factory=list)

    @classmethod
    def begin(cls, output: Path, name: str, asked: Json) -> Session:
        """Nothing is written before the first trial has ended."""
        return cls(output, name, asked)

    @classmethod
    def resume(cls, output: Path, name: str) -> Session:
        """The search of this name, the newest where it is empty. Raises NoSuchSearchError."""
        if not name:
            there = sorted(path.parent.name for path in output.glob(f"2*/{ASKED}"))
            if not there:
                raise NoSuchSearchError(f"{output}: expected a search to go on with, found none")
            name = there[-1]
        path = output / name / ASKED
        try:
            asked = json_file.read(path)
            found = cls(output, name, dict(asked))
            found.trials = list(found.read())
        except (json_file.Unreadable, OSError, ValueError, KeyError, TypeError) as error:
            raise NoSuchSearchError(
                f"{path}: no search that can be gone on with: {error}"
            ) from None
        return found

    @property
    def folder(self) -> Path:
        return self.output / self.name

    @property
    def report(self) -> Path:
        return self.output / REPORTS / f"run-report-{self.name}.json"

    def keep(self, number: int) -> Path:
        """The folder of a trial."""
        return self.folder / SYSTEM / "host" / str(self.asked["stack"]) / f"{TEST}_{number:05}"

    def read(self) -> list[Trial]:
        """The lines that are whole: a kill may have cut the last one."""
        path = self.folder / TRIALS
        found = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                data = json.loads(line)
            except ValueError:
                continue
            data["arm"] = tuple((name, value) for name, value in data["arm"])
            of = data["outcome"]
            data["outcome"] = Outcome(**{**of, "ignored": tuple(of["ignored"])})
            found.append(Trial(**data))
        return found

    def known(self) -> dict[tuple[int, Config], Outcome]:
        return {(trial.round, trial.arm): trial.outcome for trial in self.trials}

    def add(self, number: int, stage: Stage, arm: Config, outcome: Outcome) -> None:
        """Written before the next one begins."""
        trial = Trial(len(self.trials), number, stage, arm, outcome, time.time())
        self.trials.append(trial)
        if not (self.folder / ASKED).exists():
            write_whole(self.folder / ASKED, json.dumps(self.asked, indent=1) + "\n")
        with (self.folder / TRIALS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(dataclasses.asdict(trial)) + "\n")
            lines.flush()
            os.fsync(lines.fileno())

    def write_report(self) -> Path:
        """Of all trials so far."""
        began = datetime.strptime(self.name[:15], BEGAN).astimezone().timestamp()
        last = max([began, *(trial.ended for trial in self.trials)])
        info = {
            "data_version": "4.2",
            "uuid": f"tune-{self.name}",
            "hostname": socket.gethostname(),
            "time_start_unix": began,
            "time_elapsed": last - began,
            HARNESS: f"iogauge tune {version()}",
            "cmdline": str(self.asked.get("command", "tune")),
            "workdir": str(self.output.parent),
            "prefix_output": str(self.folder),
        }
        cases = [self._case(trial) for trial in self.trials]
        data = {"session_info": info, "runs": [{"testcases": cases}]}
        write_whole(self.report, json.dumps(data, indent=1) + "\n")
        return self.report

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
            "system": SYSTEM, "partition": "host", "environ": asked["stack"],
            "result": "pass" if good else "fail",
            "fail_reason": None if good else f"{trial.outcome.kind}: {trial.outcome.why}",
            "outputdir": str(self.keep(trial.number)), "stagedir": None,
            "fixture": False, "num_tasks": asked["processes"], "tags": ["tune", trial.stage],
            "fs": asked["fs"], "pattern": str(asked["pattern"]).split()[0],
            "scale": "_".join(str(asked["pattern"]).split()[1:]).replace("--", "") or "default",
            "method": method, "mode": mode, "perfvalues": None,
        }  # fmt: skip
