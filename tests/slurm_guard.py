# SPDX-License-Identifier: BSD-3-Clause
"""Ends what is left of a cluster of tests/slurm_cluster.py, however its owner ended.

    python -m tests.slurm_guard FOLDER < pipe

Started by it alone, in a new session. The owner holds the other end of the pipe: when that
is closed, be it by `kill -9`, every process with this cluster's SLURM_CONF in its environment is
killed (daemons, steps of jobs, and whoever was talking to the cluster), and FOLDER is removed. The
folder's name is made anew for each cluster, so that no other process can be meant.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time

from iogauge.common.processes import with_variable

PATIENCE = 60.0


def members(folder: str) -> list[int]:
    """Processes of the cluster, without this one."""
    return with_variable("SLURM_CONF", f"{folder}/slurm.conf")


def sweep(folder: str) -> None:
    """Until none is left: a process can have started another one while it was looked for."""
    end = time.monotonic() + PATIENCE
    while (left := members(folder)) and time.monotonic() < end:
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


def main(folder: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    sweep(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
