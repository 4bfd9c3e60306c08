# SPDX-License-Identifier: BSD-3-Clause
"""`why` names what was made slow: a process, a file, single calls. It accuses nobody else."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack
from recorder_runs import kernel

from iogauge.cli.main import main
from reframe_tests.framework.recorders import RECORDER
from tests.selftest.injector import Plan

REPEATS = 8
CALLS = 5  # of each process in a step
SLOW = Plan("write", "slow", times=None, rank=1, milliseconds=40)
ALL_SLOW = Plan("write", "slow", times=None, milliseconds=40)
Rows = list[dict[str, Any]]


def run(
    stack: Stack, injector: Path, folder: Path, plan: Plan, *words: str, repeats: int = REPEATS,
    below: str = "data", calls: int = CALLS, dxt: bool = False,
) -> Path:  # fmt: skip
    """A run folder: document and raw traces."""
    inject = {"IOGAUGE_INJECT": plan.text(folder / below)}
    libraries = {"LD_PRELOAD": f"{stack.build / RECORDER}:{injector}"}
    options = ["ior", "-b", f"{calls}k", "-t", "1k", "--repeat", str(repeats), "--write-only"]
    kernel(stack, folder, *options, *words, dxt=dxt, more=libraries | inject)[0].good()
    (folder / "traces").rename(folder / "trace")
    return folder


def why(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, Rows]:
    """What people read, with spaces for line ends, and the rows for programs."""
    assert main(["why", str(folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main(["why", str(folder), "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)


def accused(rows: Rows) -> set[tuple[str, int | None, str]]:
    """Direction, process, file."""
    return {(r["direction"], r["process"], r["file"]) for r in rows if r["chance"] is not None}


@pytest.mark.parametrize("method", ["posix", "posix-shared"])
@pytest.mark.parametrize("traced", [False, True], ids=["document", "trace"])
def test_the_slow_process_is_named(
    stack: Stack, method: str, traced: bool, injector: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder = run(stack, injector, tmp_path, SLOW, "--method", method)
    if not traced:
        (folder / "trace").rename(folder / "elsewhere")
    text, rows = why(folder, capsys)
    assert accused(rows) == {("write", 1, "")}
    row = rows[0]
    assert (row["chance"] or 1) < 0.05, "before causes that explain more, but less surely"
    assert row["host"] == socket.gethostname()
    # Eight throws of a coin are alike once in 128.
    assert (
        f"process 1 on host {row['host']} is slow: it was the slowest in 8 of 8 repeats "
        "(by chance: 0.008)"
    ) in text


def test_below_collective_calls_the_trace_names_it(
    mpich: Stack, injector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both processes are aggregators, and wait for each other within the library's calls."""
    words = ["--method", "mpiio", "--mode", "collective"]
    for hint in ("romio_cb_write=enable", "cb_config_list=*:2", "cb_nodes=2"):
        words += ["--hint", hint]
    _, rows = why(run(mpich, injector, tmp_path, SLOW, *words, dxt=True), capsys)
    assert accused(rows) == {("write", 1, "")}


def test_the_slow_file_is_named(
    stack: Stack, injector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of three that all processes write one by one."""
    words = ["--method", "posix-shared", "--steps", "3"]
    path = "data/testFile.1"
    text, rows = why(run(stack, injector, tmp_path, ALL_SLOW, *words, below=path, dxt=True), capsys)
    assert accused(rows) == {("write", None, str(tmp_path / path))}
    assert f"file {tmp_path / path} is slow: it was the slowest in 8 of 8 repeats" in text


def test_where_all_are_as_slow_nobody_is_accused(
    stack: Stack, injector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--method", "posix-shared"]
    text, rows = why(run(stack, injector, tmp_path, ALL_SLOW, *words, dxt=True), capsys)
    assert accused(rows) == set()
    assert "is slow:" not in text


def test_each_50th_write_20_ms_slower(
    stack: Stack, injector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan("write", "slow", every=50, times=None, milliseconds=20)
    words = ["--method", "posix"]
    folder = run(stack, injector, tmp_path, plan, *words, repeats=1, calls=400)
    text, rows = why(folder, capsys)
    assert {"slow calls"} <= {row["kind"] for row in rows}
    assert accused(rows) == set()
    took = re.search(r"one call in 100 took (\S+) (ms|s) or more", text)
    assert took and float(took[1]) * {"ms": 1, "s": 1000}[took[2]] >= 20, text


def test_one_repeat_decides_nothing_and_its_slowest_process_is_known(
    stack: Stack, injector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the raw traces, and without them by the document."""
    folder = run(stack, injector, tmp_path, SLOW, "--method", "posix", repeats=1)
    for name in ("trace", "elsewhere"):
        text, rows = why(folder, capsys)
        (row,) = [one for one in rows if one["kind"] == "straggler" and one["phase"] == "write"]
        assert row["process"] == 1
        assert row["chance"] is None
        assert "was the slowest in 1 of 1 repeats (by chance: 1)" in text
        if name == "trace":
            (folder / "trace").rename(folder / "elsewhere")
