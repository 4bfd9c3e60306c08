# SPDX-License-Identifier: BSD-3-Clause
"""Runs ReFrame as a user does, each time in a separate process, with its output in a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ctest import mpi_end
from tests.forked_python import run_python

ROOT = Path(__file__).parents[1]
LOCAL = ROOT / "site_configs" / "local.py"
REFRAME = str(Path(sys.executable).parent / "reframe")

# What ReFrame imports, and then the tests.
IMPORTED = ("reframe.frontend.cli", "numpy", "jsonschema_rs", "iogauge.analysis.checks.recheck")

# Each ceiling is measured once or a few times, not for a tenth of a second.
BRIEFLY = ("-S", "ceiling_seconds=0.01")

# A job's command that waits: no other process of tests has the same words.
SLEEP = f"sleep 300.{os.getpid()}"


@dataclass(frozen=True)
class Session:
    """What a ReFrame run printed and left. `text` is without colours."""

    status: int
    text: str
    output: Path

    @property
    def listed(self) -> list[str]:
        """Names of the tests that `-l` lists, without their hashes and fixtures."""
        return [
            line[2:].rsplit(" /", 1)[0] for line in self.text.splitlines() if line.startswith("- ")
        ]

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The report's test cases, without fixtures."""
        report = max((self.output / "reports").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
        found = json.loads(report.read_text())["runs"][-1]["testcases"]
        return [case for case in found if not case["fixture"]]

    def scripts(self, stack: str = "*") -> list[Path]:
        """Job scripts staged for a stack, without the fixture's, which needs a job
        (reframe_tests/framework/verifier_check.py)."""
        found = self.output.glob(f"stage/*/*/*/{stack}/*/rfm_job.sh")
        return sorted(path for path in found if not path.parent.name.startswith("Notices"))


def reframe(
    output: Path,
    *options: str,
    config: Path = LOCAL,
    root: Path = ROOT,
    tests: str = "",
    environment: dict[str, str] | None = None,
) -> Session:
    """`reframe -C CONFIG -c reframe_tests -R OPTIONS` in the checkout `root`; `tests`: files of
    its `benchmarks/`, with blanks between, which load sooner than all;
    `environment`: in place of this process's. A dry run has no job to wait for, as ReFrame's own
    policy does for each case: 0.1 s on a site with a batch system."""
    command = [REFRAME, "-C", str(config)]
    for name in tests.split() or [""]:
        command += ["-c", str(root / "reframe_tests" / ("benchmarks/" + name if name else ""))]
    if "--dry-run" in options:
        command.append("--exec-policy=serial")
    if "-r" in options:
        command += BRIEFLY
    variables = {
        **{
            key: value
            for key, value in (environment or os.environ).items()
            if not key.startswith("RFM_")
        },
        "CCACHE_BASEDIR": str(root),
        "IOGAUGE_OUTPUT": str(output),
        "IOGAUGE_DISK": str(output / "disk"),
    }
    return ran([*command, "-R", *options], root, variables, output)


def ran(command: list[str], root: Path, variables: dict[str, str], output: Path) -> Session:
    """Of a session in which MPI crashed, not the kernels, a second."""

    def once() -> Session:
        if (command[0], root) == (REFRAME, ROOT):
            done = run_python(command, variables, IMPORTED)
        else:
            done = subprocess.run(
                command, cwd=root, env=variables, capture_output=True, text=True, check=False
            )
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        return Session(done.returncode, text, output)

    return mpi_end.twice_at_most(once, lambda done: mpi_end.kernel_blames_mpi(done.text))


def reframe_of(process: int) -> int:
    """The ReFrame that `iogauge run` has started."""
    while True:
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            with suppress(OSError):  # it has just ended
                if b"/reframe\0" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)


def is_asleep() -> bool:
    """Has SLEEP begun? Bash loses a signal that comes between its fork and exec."""
    for process in Path("/proc").iterdir():
        with suppress(OSError):  # it is none, or has just ended
            words = (process / "cmdline").read_bytes()
            if words == SLEEP.replace(" ", "\0").encode() + b"\0":
                return True
    return False


def untraced_kernel(folder: Path) -> Path:
    """A copy of the tests' MPICH build in `folder`: without the recorder no run has a trace."""
    from iogauge.measure.kernels import build_for_tests  # imports ReFrame

    return Path(shutil.copy(build_for_tests("mpich") / "iokernel", folder))


def changed_site(folder: Path, code: str, of: str = "site_configs.local") -> Path:
    """The site of module `of` with `code` run on it: `site` is its data, `environ(name)` a stack,
    `templated` the base of its back ends."""
    config = folder / "changed.py"
    config.write_text(
        f"import sys\nsys.path.append({str(ROOT)!r})\n"
        "from reframe_tests.jobs.schedulers import templated\n"
        f"from {of} import site_configuration as site\n"
        "def environ(name):\n"
        "    return next(e for e in site['environments'] if e['name'] == name)\n"
        "partition = site['systems'][0]['partitions'][0]\n"
        f"{code}\n"
        "site_configuration = site\n"
    )
    return config


def strict_site(folder: Path, code: str = "") -> Path:
    """The same, as system `tests` with a separate build folder: the kernels are compiled as
    `make test-kernels` compiles them, so ccache has what it made."""
    from iogauge.measure.kernels import STRICT

    return changed_site(
        folder,
        "site['systems'][0]['name'] = 'tests'\n"
        "for one in site['environments']:\n"
        f"    one['extras']['cmake']['mpi'] = [*one['extras']['cmake']['mpi'], {STRICT!r}]\n"
        f"{code}",
    )
