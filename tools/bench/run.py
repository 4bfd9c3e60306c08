# SPDX-License-Identifier: BSD-3-Clause
"""Runs the pairs and the programs of one bench session, and prints a row for each result."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from iogauge.measure.programs import Stack
from tools.bench import cases as bench_cases
from tools.bench import parse as bench_parse
from tools.bench import peers
from tools.bench import quiet as bench_quiet
from tools.bench import stats as bench_stats
from tools.bench.cases import IOR, Case, Choice

NULL_AIM, VALUES_AIM = 20.0, 1.0  # GB/s per process
RUN_SECONDS = 600
# A pair is measured again when others took more of the machine than this, 0..1.
DISTURBED = 0.10
COLUMNS = (8, 22, 8, 5, 5, 8, 9, 10, 10, 6, 14, 5)
HEAD = ("program", "call", "stack", "procs", "fs", "transfer", "direction", "ours", "upstream",
        "ratio", "interval", "pairs", "verdict")  # fmt: skip


class RunFailed(Exception):
    """A benched program failed; the text says how."""


@dataclass
class Bench:
    """One session: what is there, what was measured."""

    stacks: dict[str, Stack]
    folders: dict[str, Path]
    filesystems: dict[str, Path]
    pairs: int
    cores: int
    patience: float  # seconds to wait for others to end, before a pair
    retries: int  # of a disturbed pair
    cases: list[dict[str, Any]] = field(default_factory=list)
    driver: list[dict[str, Any]] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    failed: bool = False

    def run(self, stack: Stack, processes: int, command: list[str]) -> str:
        """stdout of one parallel run."""
        words = stack.launch(processes, command)
        environment = {**os.environ, **stack.environment}
        # The launcher gets SIGTERM, never SIGKILL at once: it has processes of its own to end.
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as child:
            try:
                stdout, stderr = child.communicate(timeout=RUN_SECONDS)
            except BaseException as error:
                child.terminate()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise RunFailed(f"no end after {RUN_SECONDS} s: {' '.join(words)}") from error
                raise
        if child.returncode:
            said = (stderr.strip() or stdout.strip()).splitlines()[:1]
            raise RunFailed(f"status {child.returncode}: {' '.join([*said, '|', *words])}")
        return stdout

    def measure(self, case: Case, program: Path, upstream: bool) -> dict[str, float]:
        """One run in a folder of its own, so on fresh files, removed afterwards."""
        place = self.filesystems[case.filesystem]
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=place) as name:
            folder = Path(name)
            stack = self.stacks[case.stack]
            if case.program != IOR:
                command = bench_cases.s3d_command(case, program, folder)
                return bench_parse.s3d_io(self.run(stack, case.processes, command))
            command = bench_cases.ior_command(case, program, folder, upstream)
            self.run(stack, case.processes, command)
            summary = (folder / "summary.json").read_text()
            return bench_parse.ior(summary) if upstream else bench_parse.iokernel(summary)

    def compare(self, case: Case) -> None:
        """All pairs of one case, and its rows."""
        stack, folder = self.stacks[case.stack], self.folders[case.stack]
        peer = peers.peers(case.program, stack, folder)
        if peer is None:
            say_row(case, peers.how_to_give(case.program, stack))
            return
        ours = folder / ("iokernel" if case.program == IOR else case.program)
        found: dict[str, list[dict[str, float]]] = {"ours": [], "upstream": []}
        others: list[float] = []
        try:
            for pair in range(self.pairs):
                first = bench_stats.first_of_pair(pair)
                share, both = self.pair(case, {"ours": ours, "upstream": peer}, first)
                others.append(share)
                for side, result in both.items():
                    found[side].append(result)
        except (RunFailed, bench_parse.NotParsed, OSError) as error:
            self.failed = True
            say_row(case, f"failed: {error}")
            return
        for direction in case.directions:
            self.conclude(case, direction, found, others)

    def pair(
        self, case: Case, programs: dict[str, Path], first: str
    ) -> tuple[float, dict[str, dict[str, float]]]:
        """Both sides once, and the share of the machine that others took meanwhile: the least
        disturbed of a few attempts."""
        order = sorted(programs, key=lambda side: side != first)
        attempts = []
        for _ in range(self.retries + 1):
            bench_quiet.wait_for_quiet(self.cores, DISTURBED, self.patience)
            before = bench_quiet.Clock.now()
            both = {side: self.measure(case, programs[side], side == "upstream") for side in order}
            share = bench_quiet.others_share(before, bench_quiet.Clock.now(), self.cores)
            attempts.append((share, both))
            if share < DISTURBED:
                break
        return min(attempts, key=lambda attempt: attempt[0])

    def conclude(
        self,
        case: Case,
        direction: str,
        found: dict[str, list[dict[str, float]]],
        others: list[float],
    ) -> None:
        both = {side: [one[direction] for one in runs] for side, runs in found.items()}
        result = bench_stats.ratio(both["ours"], both["upstream"])
        row = {**asdict(case), "direction": direction, **both, **asdict(result)}
        self.cases.append({**row, "verdict": result.verdict, "others": others})
        noisy = sum(share >= DISTURBED for share in others)
        print_row(
            *head_cells(case),
            direction,
            f"{statistics.median(both['ours']):.0f}",
            f"{statistics.median(both['upstream']):.0f}",
            f"{result.value:.2f}",
            bench_stats.ends(result),
            str(len(both["ours"])),
            result.verdict + (f" ({noisy} disturbed)" if noisy else ""),
        )

    def bench_driver(self, choice: Choice) -> None:
        """What iokernel costs where no byte moves: the null method."""
        print("\nThe driver itself (method null, moves nothing), GB/s per process; aim: above 20")
        for stack, counts in choice.processes.items():
            for processes in counts:
                block = str(choice.size // processes // 2**20 * 2**20)
                for words in (["ior", "-t", "1m", "-b", block], ["s3d", "--grid", "100x100x100"]):
                    self.attempt(partial(self.null, stack, processes, words))

    def null(self, stack: str, processes: int, words: list[str]) -> None:
        command = [str(self.folders[stack] / "iokernel"), *words, "--method", "null"]
        command += ["--dir", str(self.filesystems["ram"]), "--repeat", "9", "--json", "-"]
        found = bench_parse.iokernel(self.run(self.stacks[stack], processes, command))
        rates = {d: found[d] * 2**20 / 1e9 / processes for d in ("write", "read")}
        row = {"stack": stack, "processes": processes, "pattern": words[0], **rates}
        self.driver.append(row)
        text = ", ".join(f"{d} {rate:.0f}" for d, rate in rates.items())
        print(f"  {words[0]:4} {stack:8} {processes} processes: {text}{aim(rates, NULL_AIM)}")

    def bench_values(self) -> None:
        """Making and checking values, on all cores at once."""
        print("\nFill and verify, GB/s per process, slowest process, all cores busy; aim: above 1")
        for name, stack in self.stacks.items():
            self.attempt(partial(self.fill_and_verify, name, stack))

    def fill_and_verify(self, name: str, stack: Stack) -> None:
        processes = min(self.cores, stack.most)
        program = [str(self.folders[name] / "bench_values")]
        rates = bench_parse.values(self.run(stack, processes, program))
        self.values.append({"stack": name, "processes": processes, **rates})
        for what, kinds in rates.items():
            text = ", ".join(f"{kind} {rate:.2f}" for kind, rate in kinds.items())
            print(f"  {what:6} {name:8} {processes} processes: {text}{aim(kinds, VALUES_AIM)}")

    def attempt(self, what: Callable[[], None]) -> None:
        """A failure is a line, and the rest goes on."""
        try:
            what()
        except (RunFailed, bench_parse.NotParsed) as error:
            self.failed = True
            print(f"  failed: {error}")


def aim(rates: dict[str, float], least: float) -> str:
    return "" if min(rates.values()) > least else f"   BELOW THE AIM OF {least:g}"


def head_cells(case: Case) -> tuple[str, ...]:
    return (case.program, case.label, case.stack, str(case.processes), case.filesystem,
            case.transfer_label)  # fmt: skip


def print_row(*cells: str) -> None:
    """A line of a table that is a Markdown table too."""
    padded = [cell.ljust(width) for cell, width in zip(cells, (*COLUMNS, 0), strict=False)]
    print(f"| {' | '.join(padded).rstrip()} |", flush=True)


def say_row(case: Case, what: str) -> None:
    print_row(*head_cells(case), what)
