# SPDX-License-Identifier: BSD-3-Clause
"""A user whom the machine does not know, without a home: what `docker run --user` makes of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.common import user
from iogauge.common.paths import ROOT
from tests.reframe_session import LOCAL, ran

UID = 4242
# The same rights under another number.
BECOME = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}", "--"]
NAMES = ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME")

pytestmark = pytest.mark.skipif(
    subprocess.run([*BECOME, "true"], capture_output=True, check=False).returncode != 0,
    reason="unshare: no user name spaces for this user here",
)


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in NAMES}


@pytest.mark.slow
def test_a_session(tmp_path: Path) -> None:
    """ReFrame's crash and Open MPI 4's."""
    reframe = str(Path(sys.executable).parent / "reframe")
    one = "S3d.*fs=disk.*call=mpiio:collective"
    command = [*BECOME, sys.executable, reframe, "-C", str(LOCAL), "-R"]
    command += ["-c", str(ROOT / "reframe_tests/benchmarks/s3d.py"), "--system", "local", "-r"]
    command += ["-t", "smoke", "-n", one, "-p", "openmpi", "-S", "repeats=1"]
    variables = environment() | {
        "TMPDIR": str(tmp_path),  # Open MPI's folder in it is named after the number
        "IOGAUGE_OUTPUT": str(tmp_path),
        "IOGAUGE_DISK": str(tmp_path / "disk"),
    }
    session = ran(command, ROOT, variables, tmp_path)
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["result"] == "pass"


def test_the_name_is_the_number_and_there_is_a_home() -> None:
    code = (
        "import os; from iogauge.common import user; user.make_known();"
        "print(user.name(), os.environ['LOGNAME'], os.path.isdir(os.environ['HOME']))"
    )
    done = subprocess.run(
        [*BECOME, sys.executable, "-c", code], cwd=ROOT, env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == f"{UID} {UID} True\n"


def test_who_is_known_keeps_name_and_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.setenv("HOME", "/home/ada")
    user.make_known()
    assert (user.name(), os.environ["HOME"]) == ("ada", "/home/ada")
