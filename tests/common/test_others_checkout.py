# SPDX-License-Identifier: BSD-3-Clause
"""A checkout that belongs to another user: for one who may not write there, and for root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT


def test_set_up_in_anothers_checkout(tmp_path: Path) -> None:
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can be another user, by setpriv")
    place = tmp_path / "checkout"
    shutil.copytree(ROOT / "environments" / "debian", place / "environments" / "debian")
    (place / ".local").mkdir()
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)  # whatever the umask
    common = Path(tempfile.gettempdir()).resolve()
    for folder in (tmp_path, *tmp_path.parents):
        if folder != common and folder.is_relative_to(common):
            folder.chmod(0o755)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*user, "bash", place / "environments" / "debian" / "setup.sh"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"may not write {place}, which belongs to root" in done.stderr
    assert "Use your own checkout" in done.stderr
    assert "Permission denied" not in done.stderr


@pytest.mark.parametrize("owner", [0, 4242])
def test_root_in_anothers_checkout(owner: int, tmp_path: Path) -> None:
    """Set-up, which ends at the path's space, warns."""
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    place = tmp_path / "check out"
    shutil.copytree(ROOT / "environments" / "debian", place / "environments" / "debian")
    os.chown(place, owner, owner)
    done = subprocess.run(
        ["bash", place / "environments" / "debian" / "setup.sh"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert "has a space in it" in done.stderr
    assert ("warning: " in done.stderr) == (owner != 0)
