# SPDX-License-Identifier: BSD-3-Clause
"""`make test` runs each part to its end, sums up, and can be stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = """\
good: ; @echo good speaks
bad: ; @echo bad speaks; exit 3
stopped: ; @kill -STOP $$PPID; sleep 0.5; kill -CONT $$PPID; echo stopped speaks
slow: ; @echo started; for i in $$(seq 600); do sleep 0.1; done
"""  # short sleeps: a shell that is just starting one can lose a signal


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def start(place: Path, *targets: str) -> subprocess.Popen[str]:
    """Whatever make these tests run under, and also where SIGINT is ignored, as below `nohup`."""
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    kept["PYTHONPATH"] = str(ROOT)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.parts", "make", *targets],
        cwd=place, env=kept, stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def test_a_failure_hides_nothing(place: Path) -> None:
    with start(place, "bad", "good") as running:
        said, _ = running.communicate()
    assert running.returncode == 1
    assert "bad speaks" in said and "good speaks" in said
    last = [line.split() for line in said.splitlines()[-3:]]
    assert last[0] == ["part", "result", "min:s"]
    assert last[1][:2] == ["bad", "FAILED"] and last[2][:2] == ["good", "passed"]
    assert all(re.fullmatch(r"\d+:[0-5]\d", row[2]) for row in last[1:])


def test_all_well(place: Path) -> None:
    with start(place, "good") as running:
        assert "good speaks" in running.communicate()[0]
    assert running.returncode == 0


def test_one_that_is_stopped_for_a_while_has_not_ended(place: Path) -> None:
    with start(place, "stopped", "good") as running:
        said, _ = running.communicate()
    assert running.returncode == 0, said
    assert said.index("stopped speaks") < said.index("== good")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_output_comes_as_it_is_made_and_a_signal_ends_all(place: Path, number: int) -> None:
    with start(place, "slow", "good") as running:
        assert running.stdout
        seen = [running.stdout.readline() for _ in range(2)]
        assert seen == ["== slow\n", "started\n"]
        running.send_signal(number)
        rest = running.stdout.read()  # ends when no process has it open
    assert running.returncode == 128 + number
    assert "good" not in rest
    assert rest.splitlines()[-1].split()[:2] == ["slow", "ended"]


def test_parts_are_targets() -> None:
    """And one part for each stack of the site file."""
    listed = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "-n", "-p", "help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lists = re.findall(r"^(\w+)_PARTS := (.*)$", listed, re.MULTILINE)
    known = {line.split(":")[0] for line in listed.splitlines() if ":" in line}
    parts = {name: set(words.split()) for name, words in lists}
    assert {"QUICK", "REST", "NIGHTLY"} == set(parts)
    assert {"lint", "test-kernels-openmpi", "test-kernels-mpich", "test-python"} <= parts["QUICK"]
    for names in parts.values():
        assert names <= known
    (run,) = (ROOT / ".ci" / "run").read_text().splitlines()[-1:]
    assert run == "exec make test-all </dev/null"
