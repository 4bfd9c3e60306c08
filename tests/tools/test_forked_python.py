# SPDX-License-Identifier: BSD-3-Clause
"""A fork of a Python process behaves as a Python that has just been started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.analysis_recorded import COMMANDS
from tests.forked_python import AT_IMPORT, ROOT, run_afresh, run_python

IMPORTS = ("json", "iogauge.cli.main")
PROGRAMS = {
    "prints": "print('out'); print('err', file=sys.stderr)",
    "prints letters": "print('\\u00e4'); print('\\u00e4', file=sys.stderr)",
    "prints a surrogate": "print('\\udcff', file=sys.stderr)",
    "what it is given": "print(sys.argv[1:], os.getcwd(), os.environ['X'], 'HOME' in os.environ)",
    "modules of its folder": "import beside; print(beside.NAME, sys.path[0])",
    "no input and no terminal": "print(repr(sys.stdin.read()), sys.stdout.isatty())",
    "status": "sys.exit(7)",
    "no status": "sys.exit()",
    "a reason": "print('out'); sys.exit('a reason')",
    "a true reason": "sys.exit(True)",
    "an exception": "print('out'); {}['key']",
    "a signal": "print('out', flush=True); os.kill(os.getpid(), 9)",
    "at exit": "import atexit; atexit.register(print, 'at exit'); print('before')",
    "a thread": "import threading, time; threading.Thread(target=lambda: "
    "(time.sleep(0.1), print('later'))).start()",
    "an open file": "kept = open(1, 'w', closefd=False); kept.write('kept')",
    "an open file and a status": "kept = open(1, 'w', closefd=False); kept.write('x'); sys.exit(3)",
    "no output left": "print('out'); sys.stdout.close()",
    "a status above 255": "sys.exit(263)",
    "a status below 0": "sys.exit(-1)",
    "a process": "import subprocess; subprocess.run(['sh', '-c', 'echo $X; exit 3'], check=True)",
    "without an end": "print('out', flush=True); os._exit(5)",
}


def without_frames(text: str) -> list[str]:
    """Of a traceback only the exception: a fork has other callers."""
    return [line for line in text.splitlines() if not line.startswith((" ", "Traceback"))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_like_a_start(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    script.write_text(f"import os, sys\n{PROGRAMS[name]}\n")
    environment = {"PATH": os.environ["PATH"], "X": "1 2", "LANG": "C.UTF-8"}
    words = [str(script), "a b", "-c"]
    right = run_afresh(words, environment)
    found = run_python(words, environment, IMPORTS)
    assert found.returncode == right.returncode
    assert found.stdout == right.stdout
    assert without_frames(found.stderr) == without_frames(right.stderr)
    assert ("Traceback" in found.stderr) == ("Traceback" in right.stderr)


def test_a_module(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    for words in (["summary", str(tmp_path / "none.json")], ["--version"], ["sumary"]):
        program = ["-m", "iogauge", *words]
        right, found = run_afresh(program, environment), run_python(program, environment, IMPORTS)
        assert (found.returncode, found.stdout, found.stderr) == (
            right.returncode, right.stdout, right.stderr,
        )  # fmt: skip


@pytest.mark.parametrize("environment", [{}, {"IOGAUGE_REFERENCES": "afresh"}])
def test_a_hang_ends(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import time; time.sleep(600)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_python([str(script)], environment, IMPORTS, seconds=1)
    script.write_text("print('next')\n")
    assert run_python([str(script)], environment, IMPORTS, seconds=60).stdout == "next\n"


def test_none_sees_another(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import json, os; print(hasattr(json, 'mark'), 'MARK' in os.environ, os.getcwd())\n"
        "json.mark = os.environ['MARK'] = 'here'; os.chdir('/')\n"
    )
    for _ in range(2):
        found = run_python([str(script)], {"LANG": "C.UTF-8"}, IMPORTS)
        assert found.stdout == f"False False {ROOT}\n", found.stderr


def test_into_a_full_disk(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        program = ["-m", "iogauge", "help"]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        right = run_afresh(program, environment, full.fileno())
        found = run_python(program, environment, IMPORTS, full.fileno())
    assert (found.returncode, found.stderr) == (right.returncode, right.stderr)
    assert right.returncode


def test_the_server_ends_with_its_user() -> None:
    code = (
        "import os; from tests import forked_python as f\n"
        "print(f.run_python(['-m', 'iogauge', '--version'], {}, ()).returncode)\n"
        "print(open(f'/proc/self/task/{os.getpid()}/children').read())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    status, process = done.stdout.split()
    assert status == "0"
    while Path(f"/proc/{process}").exists():
        time.sleep(0.01)


def test_what_is_read_at_import() -> None:
    code = (
        "import os, sys; found = set()\n"
        "class Watched(type(os.environ)):\n"
        "    def __getitem__(self, name): found.add(name); return super().__getitem__(name)\n"
        "os.environ.__class__ = Watched\n"
        f"for name in {COMMANDS}: __import__(name)\n"
        "print(*(name for name in found if name.startswith('IOGAUGE_')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {*done.stdout.split()} == AT_IMPORT
