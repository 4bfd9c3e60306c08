# SPDX-License-Identifier: BSD-3-Clause
"""Locks of a store and of set-up: whoever waits says for whom, and not without end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from iogauge.analysis.store import months
from iogauge.common import lock
from tests.measure.test_lock import ROOT, hold, line


def test_a_reader_of_the_store_does_not_wait_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(lock.LIMIT, "0")
    with months.locked(tmp_path / months.READERS) as alone:
        assert alone
        with pytest.raises(TimeoutError, match=f"iogauge store, process {os.getpid()} on"):
            months.hold(tmp_path)
    handle = months.hold(tmp_path)
    assert handle is not None
    os.close(handle)


def test_nor_does_set_up(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    words = 'set -eu; . environments/debian/common.sh; exec 9>>"$1"; wait_for_lock 9 set-up; cat $1'

    def set_up() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", words, "set-up", str(path)],
            cwd=ROOT, env={**os.environ, lock.LIMIT: "1"}, capture_output=True, text=True,
        )  # fmt: skip

    first = hold("make setup", path)
    assert line(first) == "held"
    refused = set_up()
    assert refused.returncode == 1 and f"process {first.pid} on" in refused.stdout
    assert lock.LIMIT in refused.stderr
    first.communicate("")
    taken = set_up()
    assert taken.returncode == 0 and taken.stdout.startswith("process ")
