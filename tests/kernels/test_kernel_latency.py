# SPDX-License-Identifier: BSD-3-Clause
"""How long single calls take: slow ones that no bandwidth shows, and the process that has them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import How, Stack

from tests.selftest.injector import Plan, preload

CALLS = 200  # of each process
IOR = ["ior", "-b", f"{CALLS}k", "-t", "1k"]
POSIX = How("posix", None)


def latency(document: dict[str, Any], direction: str = "write") -> dict[str, Any]:
    """Of the first repeat."""
    found: dict[str, Any] = document["samples"][0][direction]["latency"]
    return found


def slow(stack: Stack, library: Path, plan: Plan, base: Path) -> dict[str, Any]:
    (base / "files").mkdir()
    return stack.run(
        *IOR, *POSIX.options(), "--dir", str(base / "files"), document=base / "result.json",
        environment=preload(library, plan, base / "files"),
    ).good()  # fmt: skip


def test_each_50th_write_20_ms_slower(stack: Stack, injector: Path, tmp_path: Path) -> None:
    plan = Plan("write", "slow", every=50, times=None, milliseconds=20)
    document = slow(stack, injector, plan, tmp_path)
    found = latency(document)
    assert found["calls"] == 2 * CALLS
    assert found["p50"] <= found["p90"] < 0.02 <= found["p99"] <= found["p999"] <= found["max"]
    assert latency(document, "read")["p99"] < 0.02
    summary = document["summary"]
    assert [summary[f"write_{name}"] for name in ("p50", "p99", "max")] == [
        found[name] for name in ("p50", "p99", "max")
    ]


def test_the_slow_process_is_named(stack: Stack, injector: Path, tmp_path: Path) -> None:
    plan = Plan("write", "slow", times=None, rank=1, milliseconds=2)
    found = latency(slow(stack, injector, plan, tmp_path))
    slowest = found["slowest"]
    assert (slowest["process"], slowest["host"]) == (1, socket.gethostname())
    assert slowest["p50"] >= 0.002
    assert slowest["seconds"] >= CALLS * 0.002
    assert found["p90"] >= 0.002, "half of all calls are its calls"


@pytest.mark.parametrize("how", [POSIX, How("mpiio", "collective"), How("hdf5", "independent")],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("buffer", ["whole", "reused"])
def test_each_call_of_each_repeat_counts_once(
    stack: Stack, how: How, buffer: str, tmp_path: Path
) -> None:
    words = [*IOR, *how.options(), "--dir", str(tmp_path), "--buffer", buffer, "--repeat", "2"]
    document = stack.run(*words, document=tmp_path / "result.json").good()
    assert document["payload"]["calls"] == CALLS
    for sample in document["samples"]:
        for direction in ("write", "read"):
            side = sample[direction]
            found = side["latency"]
            assert found["calls"] == 2 * CALLS
            times = [found[name] for name in ("p50", "p90", "p99", "p999", "max")]
            assert times == sorted(times)
            # The phase is the sum of its calls and of what little lies between them.
            assert times[-1] <= found["slowest"]["seconds"]
            assert found["slowest"]["seconds"] <= side["phases"][direction]["max"] * 1.01


def test_what_does_not_run_has_no_times(openmpi: Stack, tmp_path: Path) -> None:
    words = [*IOR, *POSIX.options(), "--dir", str(tmp_path), "--write-only"]
    document = openmpi.run(*words, document=tmp_path / "result.json").result()
    assert document["samples"][0]["read"] is None
    assert document["summary"]["read_p99"] is None
