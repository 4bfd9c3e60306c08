# SPDX-License-Identifier: BSD-3-Clause
"""Who was slow: equal ones are seldom accused, whatever the noise; a slow one is named."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from iogauge.analysis.darshan.log import Log, Segments
from iogauge.analysis.judge import bottleneck, slow
from iogauge.analysis.judge.slow import RATE, chance
from iogauge.analysis.ledger.traced import Traced
from iogauge.analysis.ledger.verdict import Judgement
from tests.simulate.noise import INDEPENDENT, Floats

RUNS = 2000
START = 1.7e9  # Unix time


def document(seconds: dict[str, Floats], nodes: int = 1, **asked: Any) -> dict[str, Any]:
    """Of seconds in calls by direction, for each repeat and process."""
    repeats, processes = next(iter(seconds.values())).shape

    def side(direction: str, times: Floats) -> dict[str, Any]:
        most, longest = int(times.argmax()), float(times.max())
        phase = {"min": float(times.min()), "mean": float(times.mean()), "max": longest}
        slowest = {
            "process": most, "host": f"n{most * nodes // processes}", "seconds": longest,
            "p50": 1e-6, "p99": 2e-6,
        }  # fmt: skip
        latency = {"calls": 10 * processes, "slowest": slowest}
        return {"seconds": 1.1 * longest, "bandwidth": 1.0, "phases": {direction: phase},
                "latency": latency}  # fmt: skip

    return {
        "asked": {"pattern": "s3d", "method": "posix", "mode": None, "steps": 1, **asked},
        "system": {
            "processes": processes, "nodes": nodes, "processes_per_node": -(-processes // nodes),
        },
        "memory": {"data": 100}, "payload": {"bytes": 100 * processes},
        "used": {"caches": "cached"}, "file_count": 1,
        "samples": [
            {name: side(name, times[repeat]) for name, times in seconds.items()}
            for repeat in range(repeats)
        ],
    }  # fmt: skip


def named(run: dict[str, Any]) -> list[tuple[str, int | None, str]]:
    """Direction, process and host of each that is accused."""
    causes = [cause for one in bottleneck.facts(run, None, {}) for cause in bottleneck.causes(one)]
    return [(c.direction, c.process, c.host) for c in causes if c.chance is not None]


def equal(seed: int, repeats: int, processes: int, slower: float = 1.0) -> Floats:
    """Seconds with 10 % noise; process 1 takes `slower` times as long."""
    found = np.random.default_rng(seed).lognormal(0, 0.1, (repeats, processes))
    found[:, 1] *= slower
    return found


@pytest.mark.parametrize(("times", "rounds", "members"), [(1, 1, 2), (9, 10, 64), (3, 7, 4)])
def test_the_chance_is_that_of_the_binomial(times: int, rounds: int, members: int) -> None:
    one = binom.sf(times - 1, rounds, 1 / members)
    assert chance(times, rounds, members) == pytest.approx(min(1, members * one))
    assert chance(times, rounds, members, 3) == pytest.approx(min(1, 3 * members * one))


def test_all_of_seven_rounds_and_two_directions_are_no_chance_for_two() -> None:
    """Half of the time both throws of a coin are alike; seven, one in 64."""
    assert chance(2, 2, 2) == 0.5
    assert chance(7, 7, 2, 2) == 2 / 64 < RATE < chance(6, 6, 2, 2)
    assert chance(10_000, 10_000, 65_536) == 0  # and no overflow


@pytest.mark.parametrize("noise", INDEPENDENT)
@pytest.mark.parametrize(("processes", "nodes", "repeats"), [(2, 1, 8), (4, 2, 10), (64, 8, 3)])
def test_equal_processes_are_accused_at_most_once_in_20_runs(
    noise: str, processes: int, nodes: int, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all four questions together, and even if any factor were a cause."""
    monkeypatch.setattr(slow, "SLOWER", 1.0)
    seconds = 1 / INDEPENDENT[noise](np.random.default_rng(1), (RUNS, 2, repeats, processes))
    accused = sum(
        any(one.is_slow for one in slow.questions(
            document({"write": both[0], "read": both[1]}, nodes), None))
        for both in seconds
    )  # fmt: skip
    assert accused / RUNS <= RATE + 3 * math.sqrt(RATE * (1 - RATE) / RUNS)


def test_a_slow_process_is_named_with_its_host() -> None:
    run = document({"write": equal(1, 8, 8, slower=3), "read": equal(2, 8, 8)}, nodes=4)
    assert named(run) == [("write", 1, "n0")]
    (cause,) = [c for c in bottleneck.causes(bottleneck.facts(run, None, {})[0]) if c.chance]
    # 4 questions, 8 processes, all of 8 rounds; it took 3 times as long as 7 of 8 others.
    assert cause.chance == pytest.approx(4 * 8 / 8**8)
    assert cause.says == (
        "process 1 on host n0 is slow: it was the slowest in 8 of 8 repeats (by chance: 2e-06)"
    )


def test_who_is_slow_by_a_test_is_said_however_small_the_share() -> None:
    """Moving data is a fiftieth of the time; elsewhere is no cause, either."""
    run = document({"write": equal(1, 8, 8, slower=3)})
    for sample in run["samples"]:
        sample["write"]["seconds"] *= 50
    assert named(run) == [("write", 1, "n0")]


def test_a_slow_host_is_named_where_its_processes_take_turns() -> None:
    seconds = equal(3, 12, 16)
    seconds[:, 4:8] *= 3
    assert named(document({"write": seconds}, nodes=4)) == [("write", None, "n1")]


def test_hosts_of_unequal_numbers_of_processes_are_not_compared() -> None:
    """One that has three of four processes has the slowest more often."""
    run = document({"write": equal(5, 20, 4, slower=3)}, nodes=2)
    run["system"]["processes_per_node"] = 3
    kinds = {one.kind for one in slow.questions(run, None)}
    assert kinds == {"process"} and named(run) == [("write", 1, "n0")]


def test_processes_that_may_differ_in_calls_are_not_compared() -> None:
    for pattern in ("extents", "file", "replay"):
        assert not named(document({"write": equal(1, 8, 8, slower=3)}, pattern=pattern))


def test_what_is_slower_by_little_is_no_cause() -> None:
    seconds = np.ones((20, 4))
    seconds[:, 2] = 1.2
    assert named(document({"write": seconds})) == []


def test_few_repeats_accuse_nobody_and_say_so() -> None:
    run = document({"write": equal(4, 2, 4, slower=5)})
    assert named(run) == []
    (cause,) = bottleneck.causes(bottleneck.facts(run, None, {})[0])
    assert (cause.kind, cause.process) == ("straggler", 1), "the document's slowest"
    # Both rounds by one of four: 4 * (1/4)^2.
    assert "process 1 on host n0 was the slowest in 2 of 2 repeats (by chance: 0.2)" in cause.says


@pytest.mark.parametrize("asked", [
    {"method": "mpiio", "mode": "collective"}, {"method": "twophase"}, {"method": "master"},
    {"method": "adios2", "mode": "independent"},
])  # fmt: skip
def test_where_processes_wait_or_work_for_others_the_document_accuses_nobody(
    asked: dict[str, Any],
) -> None:
    assert named(document({"write": equal(5, 10, 4, slower=5)}, **asked)) == []


def test_nor_where_parts_are_unequal() -> None:
    run = document({"write": equal(6, 10, 4, slower=5)})
    assert named(run) == [("write", 1, "n0")]
    run["memory"]["data"] = 150  # of the largest; 100 on average
    assert named(run) == []


def traced(run: dict[str, Any], accesses: list[tuple[int, str, float, int, float]]) -> Any:
    """Of rank, path, begin, bytes, seconds."""
    segments = tuple(
        Segments("POSIX", path, rank, [(0, size, when, when + seconds)], [])
        for rank, path, when, size, seconds in accesses
    )
    log = Log(Path("log"), "test", 3, START, 99.0, "", (), (), {}, (), segments=segments)
    ledger: Any = SimpleNamespace(side=lambda _: None)
    return Traced(Path("run"), run, log, ledger, Judgement("balanced", ()))


def collective(repeats: int) -> dict[str, Any]:
    """A repeat every 10 seconds."""
    run = document({"write": equal(7, repeats, 3)}, method="mpiio", mode="collective")
    for repeat, sample in enumerate(run["samples"]):
        begin = START + 10 * repeat
        sample["write"]["spans"] = [{"phase": "write", "begin": begin, "end": begin + 9}]
    return run


def asked(run: dict[str, Any], accesses: list[tuple[int, str, float, int, float]]) -> list[str]:
    return [str(one) for one in slow.questions(run, traced(run, accesses)) if one.is_slow]


def test_a_trace_names_the_slow_file() -> None:
    """Three files of all processes, one after the other; in a fourth are only headers."""
    run = collective(8)
    accesses = [
        (rank, path, 10 * repeat + 2 * turn + 0.1 * rank, size,
         (0.5 if path == "/fs/b" else 0.1) + 0.01 * ((repeat + turn) % 3) + 0.001 * rank)
        for repeat in range(8) for rank in range(3)
        for turn, (path, size) in enumerate([("/fs/a", 99), ("/fs/b", 100), ("/fs/c", 100),
                                             ("/fs/d", 1)])
    ]  # fmt: skip
    # 8 rounds, 3 equal files, two questions: process and file.
    assert asked(run, accesses) == [
        f"file /fs/b is slow: it was the slowest in 8 of 8 repeats (by chance: {2 * 3**-7:.1g})"
    ]
    assert asked(run, [a for a in accesses if a[1] != "/fs/b"]) == []


def test_a_process_that_writes_for_others_is_not_compared_with_them() -> None:
    """Of three processes one is slow; a fourth is slower, and moves the data of all."""
    run = collective(8)
    mine = [
        (rank, "/fs/a", 10 * repeat + 0.1 * rank, 400 if rank == 0 else 100,
         (2.0, 0.1, 0.5, 0.1)[rank] + 0.01 * (repeat % 2) + 0.001 * rank)
        for repeat in range(8) for rank in range(4)
    ]  # fmt: skip
    assert asked(run, mine) == []
    alike = [(rank, path, when, 100, took) for rank, path, when, _, took in mine if rank]
    (said,) = asked(run, alike)
    assert said.startswith("process 2 is slow: it was the slowest in 8 of 8 repeats")


def test_a_clock_too_coarse_to_tell_accuses_nobody() -> None:
    run = collective(8)
    same = [(rank, "/fs/a", 10.0 * repeat, 100, 0.5 if rank < 2 else 0.0)
            for repeat in range(8) for rank in range(3)]  # fmt: skip
    assert slow.questions(run, traced(run, same)) == []
