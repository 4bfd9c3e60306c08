# SPDX-License-Identifier: BSD-3-Clause
"""`make test` runs each part to its end, sums up, and can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools import run_parts
from tools.run_parts import Part

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = """\
good: ; @echo good speaks
bad: ; @echo bad speaks; exit 3
slow: ; @echo started; for i in $$(seq 600); do sleep 0.1; done
"""  # short sleeps: a shell that is just starting one can lose a signal


def command(*targets: str) -> list[str]:
    return [sys.executable, "-m", "tools.run_parts", *targets]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """For a make that reads the Makefile above, whatever make these tests run under."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return {**kept, "PYTHONPATH": str(ROOT)}


def test_a_failure_hides_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command("bad", "good"), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "bad speaks" in done.stdout and "good speaks" in done.stdout
    last = [line.split() for line in done.stdout.splitlines()[-4:]]
    assert last[0] == ["part", "result", "minutes"]
    assert last[1][:2] == ["bad", "FAILED"]
    assert last[2][:2] == ["good", "passed"]
    assert last[3][:4] == ["all", "1", "of", "2"]


def test_all_well(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command("good"), cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0


def test_output_comes_as_it_is_made_and_ctrl_c_ends_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with subprocess.Popen(
        command("slow", "good"),
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout
        seen = [running.stdout.readline() for _ in range(2)]
        assert seen[1] == "started\n", seen
        # as the terminal does: to all processes of the foreground group
        os.killpg(running.pid, signal.SIGINT)
        rest = running.stdout.read()
    assert running.returncode == 128 + signal.SIGINT
    assert "good speaks" not in rest
    assert [line.split()[:3] for line in rest.splitlines()][-2] == ["good", "not", "run"]


def test_sigterm_reaches_the_part(tmp_path: Path, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        command("slow"), cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        while running.stdout.readline() != "started\n":
            pass
        running.terminate()
        rest = running.stdout.read()
    assert running.returncode == 128 + signal.SIGTERM
    assert "0 of 1 passed" in rest


def test_table() -> None:
    parts = [Part("lint", 0, 30.0), Part("test-python", 2, 600.0), Part("test-fs-local", None)]
    assert run_parts.table(parts) == (
        "part           result                  minutes\n"
        "lint           passed                      0.5\n"
        "test-python    FAILED (exit status 2)     10.0\n"
        "test-fs-local  not run                     0.0\n"
        "all            1 of 3 passed              10.5"
    )


def test_make_test_names_targets_that_exist() -> None:
    """And one part for each stack of the site file."""
    listed = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "-n", "-p", "help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = next(line for line in listed.splitlines() if line.startswith("TEST_PARTS := "))
    known = {line.split(":")[0] for line in listed.splitlines() if ":" in line}
    parts = named.split()[2:]
    assert {"lint", "test-kernels-openmpi", "test-kernels-mpich", "test-python"} <= set(parts)
    assert set(parts) <= known
