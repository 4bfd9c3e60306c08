# SPDX-License-Identifier: BSD-3-Clause
"""A checkout that belongs to another user: for one who may not write there, and for root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
    assert "Right is a checkout of your own" in done.stderr
    assert "Permission denied" not in done.stderr


# A root without the files that say `container`, in a mount name space.
BARE = """set -e; mount -t tmpfs none "$1"
for folder in /*/; do mkdir "$1$folder"; mount --rbind "$folder" "$1$folder"; done
exec env -u container -u KUBERNETES_SERVICE_HOST chroot "$@"
"""
IN_USERS = ["unshare", "--user", "--map-root-user"]


@pytest.mark.parametrize(
    ("owner", "more", "refused"),
    [
        (4242, [], True),
        (4242, ["env", "IOGAUGE_AS_ROOT=1"], False),
        (4242, ["env", "container=podman"], False),
        (4242, IN_USERS, False),
        (0, [], False),
    ],
)
def test_root_in_anothers_checkout(
    owner: int, more: list[str], refused: bool, tmp_path: Path
) -> None:
    """Set-up, which ends at the path's space, and the command."""
    root = tmp_path / "root"
    root.mkdir()
    front = ["unshare", "--mount", "bash", "-c", BARE, "-", str(root), *more]
    if more == IN_USERS:
        front = more  # one cannot be made below chroot
    if subprocess.run([*front, "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare: no mount or user name spaces for this user here")
    place = tmp_path / "check out"
    shutil.copytree(ROOT / "environments" / "debian", place / "environments" / "debian")
    (place / "iogauge").mkdir()
    code = (
        "import sys; from pathlib import Path; from iogauge.common import paths\n"
        "from iogauge.cli.main import main; paths.ROOT = Path(sys.argv[1])\n"
        "sys.exit(main(['store', 'recover', 'NOSUCH', '--output', sys.argv[1]]))"
    )
    place.chmod(0o777)
    os.chown(place, owner, owner)
    for words, well in (
        (["bash", str(place / "environments" / "debian" / "setup.sh")], "has a space in it"),
        ([sys.executable, "-c", code, str(place)], "found no session NOSUCH"),
    ):
        done = subprocess.run(
            [*front, *words], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
            text=True, check=False, cwd="/",
        )  # fmt: skip
        if refused:
            assert done.returncode == 3, done.stderr
            assert str(place) in done.stderr and str(owner) in done.stderr
            assert "belongs to" in done.stderr and "IOGAUGE_AS_ROOT=1" in done.stderr
        else:
            assert well in done.stderr
