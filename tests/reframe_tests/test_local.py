# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of this machine."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from iogauge.common import processes
from iogauge.common.paths import ROOT


def test_a_job_ends_if_reframe_is_killed_once_it_has_started(tmp_path: Path) -> None:
    """Nobody but the job itself can have told the guard of it."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsleep 1000\n")
    script.chmod(0o755)
    maker = (
        "import os, signal, sys, types\n"
        "from reframe_tests.jobs.schedulers import local\n"
        "start = local.osext.run_command_async\n"
        "def started(*words, **more):\n"
        "    print(start(*words, **more).pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "local.osext.run_command_async = started\n"
        "out, err, script = os.devnull, os.devnull, sys.argv[1]\n"
        "job = types.SimpleNamespace(stdout=out, stderr=err, script_filename=script)\n"
        "local.TemplatedLocalScheduler.submit(None, job)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", maker, script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    job = int(done.stdout)
    end = time.monotonic() + 300
    while (left := processes.of_session(job)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left
