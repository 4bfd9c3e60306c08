# SPDX-License-Identifier: BSD-3-Clause
"""Functions of set-up: which Python it takes, and how it ends when Python or a library, which are
installed at the same time, fails, or when Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SET_UP = Path(__file__).parents[2] / "environments" / "debian" / "setup.sh"
# Bash may lose a signal between fork and exec of a child.
LONG = "sleep 1000 & until [[ $(</proc/$!/comm) == sleep ]]; do :; done; echo started >pipe; wait"


def functions_of_set_up(folder: Path, then: str) -> Path:
    """A copy of the script that has all functions, and runs these lines in place of `main`."""
    copy = folder / "environments" / "debian"
    copy.mkdir(parents=True)
    (copy / "common.sh").write_text(SET_UP.with_name("common.sh").read_text())
    functions = SET_UP.read_text().removesuffix('main "$@"\n')
    assert functions != SET_UP.read_text()
    script = copy / "setup.sh"
    script.write_text(f"{functions}{then}\n")
    return script


def start(folder: Path, python: str, stack: str) -> subprocess.Popen[str]:
    """The function with two bodies of its parts, in a session whose processes hold stdout."""
    parts = f"set_up_python() {{\n{python}\n}}\nset_up_stack() {{\n{stack}\n}}\nset_up_both test\n"
    script = functions_of_set_up(folder, f"{parts}echo ready")
    os.mkfifo(folder / "pipe")
    command = ["env", "--default-signal=INT", "bash", str(script)]  # in CI it may be ignored
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.parametrize(
    ("python", "stack", "status"),
    [
        (":", ":", 0),
        ("exit 1", ":", 1),
        ("false", ":", 1),
        (":", "exit 3", 3),
        (LONG, "read -r <pipe; exit 3", 3),
    ],
)
def test_the_status_is_that_of_what_failed(
    python: str, stack: str, status: int, tmp_path: Path
) -> None:
    process = start(tmp_path, python, stack)
    said, _ = process.communicate(timeout=60)  # to the end of the last process
    assert (process.returncode, said) == (status, "" if status else "ready\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_set_up_ends_both(number: signal.Signals, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "both")
    process = start(tmp_path, LONG, "bash -c 'read -r <pipe; echo $$ >both; exec sleep 1000'")
    child = int((tmp_path / "both").read_text())
    while Path(f"/proc/{child}/comm").read_text() != "sleep\n":
        time.sleep(0.01)
    os.killpg(process.pid, number)
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == -number


def find_python(folder: Path, wanted: str) -> subprocess.CompletedProcess[str]:
    """With a `python3` on PATH before Debian's, as of a module or of pyenv."""
    (folder / "python3").symlink_to(sys.executable)
    words = ["bash", str(functions_of_set_up(folder, "find_python"))]
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHON": wanted}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment)


def test_debians_python_comes_before_one_on_path(tmp_path: Path) -> None:
    assert find_python(tmp_path, "").stdout == "/usr/bin/python3\n"


def test_the_python_that_is_named_is_taken(tmp_path: Path) -> None:
    assert find_python(tmp_path, f"{tmp_path}/python3").stdout == f"{tmp_path}/python3\n"


def test_a_python_that_is_named_and_will_not_do_is_an_error(tmp_path: Path) -> None:
    done = find_python(tmp_path, "/bin/false")
    assert done.returncode == 3
    assert done.stderr.startswith("set-up: none of these is a Python >= 3.10")
    assert "/bin/false" in done.stderr
