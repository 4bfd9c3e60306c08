# SPDX-License-Identifier: BSD-3-Clause
"""The result of a search: as text, and as files for libraries, job scripts and a site."""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from iogauge.analysis.judge.advice import settings
from iogauge.analysis.statistics.interval import Interval
from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import RULES, Found, Rules
from iogauge.common import json_file, tables
from iogauge.common.files import write_whole
from iogauge.common.hints import sort_hints
from iogauge.common.run_folder import DOCUMENT
from iogauge.common.text import counted

from .space import CALL, Space, text
from .trials import Session, Trial, split

MIB = 2**20
FILE, SITE_FILE = "tune.txt", "site-entry.txt"
SHOWN = 5


@dataclass(frozen=True)
class Advice:
    """`found`, and further facts of the trials."""

    session: Session
    space: Space
    found: Found
    rules: Rules = RULES

    @property
    def gain(self) -> Interval | None:
        """The interval that counts, from the rounds after the search."""
        return self.found.confirmed

    @property
    def is_decided(self) -> bool:
        return self.gain is not None and self.gain.verdict == "faster"

    def trials(self, arm: Config) -> list[Trial]:
        return [t for t in self.session.trials if t.arm == arm and t.outcome.kind == "ok"]

    def peak(self, arm: Config) -> int:
        """Peak memory of the largest process in bytes, median of its trials."""
        found = [trial.outcome.peak for trial in self.trials(arm)]
        return int(median(found)) if found else 0

    def hints(self) -> tuple[dict[str, str], dict[str, str], list[str]]:
        """The winner's hints, without those that its library ignored, variables and options."""
        hints, variables, options = split(self.space.places(self.found.winner))
        trials = self.trials(self.found.winner)
        ignored = set(trials[-1].outcome.ignored) if trials else set()
        return {k: v for k, v in hints.items() if k not in ignored}, variables, options

    def lines(self) -> Iterator[str]:
        asked = self.session.asked
        log, tried = self.found.log, len({t.arm for t in self.session.trials})
        yield (
            f"{asked['pattern']}, {asked['processes']} processes, {asked['stack']}, "
            f"{asked['fs']} ({'with' if asked['fsync'] else 'without'} fsync), {asked['wish']}: "
            f"{tried} of {self.space.size} settings tried, {log.runs} jobs in {log.rounds} rounds"
        )
        yield from self._outcasts()
        yield from self._others()
        yield f"default  {text(self.space.default)}"
        yield from self._of_the_winner()
        yield from self._of_kinds()

    def _of_kinds(self) -> Iterator[str]:
        winner, log = self.found.winner, self.found.log
        best: dict[str, Config] = {}
        for arm in (winner, *self.found.ranked, self.space.default):
            if log.speeds.get(arm):
                best.setdefault(tables.kind_of(dict(arm)[CALL].partition(":")[0]), arm)
        for kind in [kind for kind in tables.KINDS if kind in best and len(best) > 1]:
            arm = best[kind]
            speed = log.interval(winner, arm, range(log.rounds)) if arm != winner else None
            found = f"{_gain(speed, 'the fastest')}: " if speed else ""
            yield f"kind     {tables.KINDS[kind]}: {found}{text(arm)}"

    def _of_the_winner(self) -> Iterator[str]:
        winner, default = self.found.winner, self.space.default
        if winner == default:
            yield "advice   none: no setting was faster than the default"
        else:
            yield f"fastest  {text(winner)}"
            searched = self.found.searched
            for gain, what in ((self.gain, "in new rounds"), (searched, "while searching")):
                if gain is not None:
                    yield f"gain     {_gain(gain)} {what}, {gain.counted}"
            yield f"memory   {self.memory()}"
            yield f"tested   {self.tested()}"
        if not self.is_decided:
            yield f"undecided: {self.lacks()}"

    def memory(self) -> str:
        of, base = self.peak(self.found.winner), self.peak(self.space.default)
        if not (of and base):
            return "unknown"
        more = (of - base) / MIB
        return f"{of / MIB:.0f} MiB in the largest process, {more:+.0f} MiB relative to the default"

    def tested(self) -> str:
        document = self.document(self.found.winner)
        payload = document.get("payload", {}).get("bytes", 0)
        system = document.get("system", {})
        nodes, processes = system.get("nodes", 1), system.get("processes", 1)
        return (
            f"{payload / MIB:.1f} MiB per dump, {payload / max(processes, 1) / MIB:.1f} MiB per "
            f"process, {processes} processes on {counted(nodes, 'node')}; no other sizes"
        )

    def document(self, arm: Config) -> dict[str, Any]:
        for trial in reversed(self.trials(arm)):
            with suppress(json_file.Unreadable):
                found = json_file.read(self.session.keep(trial.number) / DOCUMENT)
                return dict(found) if isinstance(found, dict) else {}
        return {}

    def lacks(self) -> str:
        """What would decide it."""
        gain, name = self.gain, self.session.name
        more = f"iogauge tune --resume {name} --budget"
        budget = float(self.session.asked["budget"])
        if self.found.winner == self.space.default:
            early = self.found.log.rounds < self.rules.least
            why = "the budget ended too early" if early else "no setting that was tried is faster"
            return f"{why}; to try more: {more} {2 * budget / 60:.0f}m"
        if gain is None or gain.low is None:
            has = gain.counted if gain else "no pair"
            each = 2 * median([t.outcome.seconds for t in self.session.trials] or [1.0])
            minutes = math.ceil((budget + 2 * self.rules.confirm * each) / 60)
            return f"{has} of new rounds, {self.rules.confirm} needed: {more} {minutes}m"
        minutes = math.ceil(2 * budget / 60)
        return f"the interval includes 1: the gain is within the noise; {more} {minutes}m"

    def _others(self) -> Iterator[str]:
        log, default = self.found.log, self.space.default
        rest = [arm for arm in self.found.ranked if arm not in (self.found.winner, default)]
        for arm in [arm for arm in rest if log.speeds.get(arm)][: SHOWN - 1]:
            ratio = math.exp(log.score(arm, range(log.rounds)))
            rounds = counted(len(log.speeds[arm]), "round")
            yield f"next     {ratio:.2f} times, {rounds}: {text(arm)}"

    def _outcasts(self) -> Iterator[str]:
        """Settings that are not advised, with the first reason of each."""
        seen: dict[str, dict[Config, str]] = {}
        for trial in self.session.trials:
            if trial.outcome.kind != "ok":
                seen.setdefault(trial.outcome.kind, {}).setdefault(trial.arm, trial.outcome.why)
        for kind, of in sorted(seen.items(), key=lambda one: one[0] != "wrong bytes"):
            for arm, why in list(of.items())[: None if kind == "wrong bytes" else SHOWN]:
                yield f"excluded {kind}: {text(arm)}: {why}"
            if kind != "wrong bytes" and len(of) > SHOWN:
                yield f"excluded {kind}: {len(of) - SHOWN} more settings"

    def write(self, folder: Path, site: bool) -> list[Path]:
        """Write the text and, for a decided gain, the settings' files. Raises OSError."""
        files = {FILE: "\n".join(self.lines()) + "\n"}
        if self.is_decided:
            hints, variables, options = self.hints()
            files |= settings(hints, "", folder.resolve(), variables)
            files["environment.sh"] = self._head(options) + files["environment.sh"]
            if site:
                files[SITE_FILE] = self.site_entry()
        files["tune.json"] = json.dumps(self.summary(), indent=1) + "\n"
        for name, content in files.items():
            write_whole(folder / name, content)
        return [folder / name for name in files]

    def _head(self, options: list[str]) -> str:
        first, *rest = self.lines()
        shown = [line for line in rest if line.split()[0] in ("default", "fastest", "gain")]
        lines = [f"# {line}" for line in (first, *shown)]
        lines += [f"# memory: {self.memory()}", f"# tested with: {self.tested()}"]
        if options:
            lines.append(f"# options of iokernel's method: {' '.join(options)}")
        return "\n".join(lines) + "\n"

    def site_entry(self) -> str:
        hints, variables, _ = self.hints()
        method = dict(self.found.winner)[CALL].partition(":")[0]
        has_own = method in ("hdf5", "pnetcdf", "netcdf4", "cgns")
        rule = {
            "patterns": [str(self.session.asked["pattern"]).split()[0]],
            # features by which a rule selects a method's calls
            **({"with": [method]} if has_own else {"without": ["hdf5", "pnetcdf"]}),
            "hints": hints,
        }
        gain = f"{_gain(self.gain)}," if self.gain else ""
        lines = [
            f"# iogauge tune, {self.session.name}: {gain} {text(self.space.default)}",
            f"# in the entry of the file system {self.session.asked['fs']}:",
            f"hints_where=[{rule!r}],",
        ]
        if variables:
            pairs = [[key, value] for key, value in variables.items()]
            lines += [f"# in the stack {self.session.asked['stack']}:", f'"env_vars": {pairs!r},']
        if sort_hints(hints).environment:
            lines.append("# hints of OMPIO are for every method of the stack")
        return "\n".join(lines) + "\n"

    def summary(self) -> dict[str, Any]:
        gain = self.gain
        return {
            "session": self.session.name,
            "asked": self.session.asked,
            "default": dict(self.space.default),
            "winner": dict(self.found.winner),
            "decided": self.is_decided,
            "ratio": gain.value if gain else None,
            **{name: getattr(gain, name, None) for name in ("low", "high")},
            "pairs": gain.samples[0] if gain else 0,
            "settings": self.space.size,
            "jobs": self.found.log.runs,
            "peak_bytes": self.peak(self.found.winner),
            "peak_bytes_default": self.peak(self.space.default),
            "out": [
                {"settings": dict(t.arm), "why": f"{t.outcome.kind}: {t.outcome.why}"}
                for t in self.session.trials
                if t.outcome.kind != "ok"
            ],
        }


def _gain(gain: Interval, over: str = "the default") -> str:
    ends = f" ({gain.low:.2f} to {gain.high:.2f})" if gain.low and gain.high else " (no interval)"
    return f"{gain.value:.2f} times {over}{ends}"
