# SPDX-License-Identifier: BSD-3-Clause
"""Sessions while a machine misbehaves: its clock is set back; two hosts measure into one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.store import database as store
from iogauge.measure.kernels import build_for_tests
from tests.clock_back import clock_back
from tests.measure.test_run_session import ONE, ROOT, finish, needs_mpich, start

pytestmark = [pytest.mark.slow, needs_mpich]


def cases(output: Path) -> list[dict[str, Any]]:
    """Of all sessions whose cases ended well."""
    found = output.glob("2*/local/host/mpich/S3d*/result.json")
    return [json.loads(path.read_text()) for path in sorted(found)]


def test_a_clock_that_is_set_back_by_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a run, for the harness and the job's script; for kernels see
    test_kernel_paused.py. The session is as any other, and nobody waits for an hour."""
    turned, memory, output = tmp_path / "turned", tmp_path / "ram", tmp_path / "output"
    memory.mkdir()
    monkeypatch.setenv("LD_PRELOAD", str(clock_back(tmp_path)))
    monkeypatch.setenv("IOGAUGE_CLOCK_BACK", str(turned))
    monkeypatch.setenv("IOGAUGE_RAM", str(memory))
    process = start(output, *ONE, "-S", f"kernel_path={build_for_tests('mpich') / 'iokernel'}")

    def turn() -> None:
        while process.poll() is None and not turned.exists():
            if any(memory.glob("iogauge.*/*")):
                turned.touch()
            time.sleep(0.001)

    thread = threading.Thread(target=turn)
    thread.start()
    status, said = finish(process)
    thread.join()
    assert turned.exists()
    assert status == 0, said
    assert [case["verification"]["verdict"] for case in cases(output)] == ["verified"]


HOSTS = """
import os, socket, subprocess, sys
host, *command = sys.argv[1:]
socket.sethostname(host)
sys.exit(subprocess.run(command, check=False).returncode)
"""


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no locks"])
def test_two_hosts_in_one_output_folder(tmp_path: Path, locks: bool) -> None:
    """Each with processes of the same numbers. The second waits where the file system has locks;
    where it has none, both measure, and nothing of either is lost or mixed up."""
    unshare = ["unshare", "--uts", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("name spaces need root")
    output = tmp_path / "output"
    kernel = f"kernel_path={build_for_tests('mpich') / 'iokernel'}"
    go, running = tmp_path / "go", []
    held = f"S3d.prerun_cmds=while [ ! -e {go} ]; do sleep 0.1; done"  # until the other one waits
    for host in ("host1", "host2"):
        memory = tmp_path / host
        memory.mkdir()
        command = [*unshare, sys.executable, "-c", HOSTS, host, sys.executable, "-m", "iogauge"]
        variables = {"IOGAUGE_OUTPUT": str(output), "IOGAUGE_RAM": str(memory)}
        variables["IOGAUGE_NO_LOCK"] = "machine" if locks else "1"
        command = [*command, "run", "--rounds", "0", "--", *ONE, "-S", kernel, "-S", held]
        with memory.with_suffix(".log").open("w") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **variables}, stdout=log, stderr=log
            )
        running.append(process)

    def said() -> list[str]:
        return [path.read_text() for path in sorted(tmp_path.glob("host*.log"))]

    while locks and not any("waiting for" in text for text in said()):
        assert [one.poll() for one in running] == [None, None], said()
        time.sleep(0.1)
    go.touch()
    assert [one.wait() for one in running] == [0, 0], said()
    assert len([text for text in said() if "waiting for" in text]) == locks
    assert [case["verification"]["verdict"] for case in cases(output)] == ["verified"] * 2
    hosts = {host for case in cases(output) for host in case["system"]["hosts"]}
    assert hosts == {"host1", "host2"}
    stored = store.connect(output / "store", pytest.fail).execute(
        "SELECT count(DISTINCT session) FROM records"
    )
    assert stored.fetchone() == (2,)
    assert len(list((output / "reports").glob("run-report-2*.json"))) == 2
