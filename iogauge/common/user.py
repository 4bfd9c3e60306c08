# SPDX-License-Identifier: BSD-3-Clause
"""Who runs this, also one whom the machine does not know, as a container may not
(`docker run --user`)."""

import errno
import getpass
import os
import tempfile
from pathlib import Path

WORDS = ("IOGAUGE_AS_ROOT", "container", "KUBERNETES_SERVICE_HOST")
CONTAINERS = ("/.dockerenv", "/run/.containerenv")
UID_MAP = Path("/proc/self/uid_map")


def name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def check_owner(checkout: Path) -> None:
    """Raises PermissionError where root's files would be in another user's way. A container or a
    user name space has its own root, and its owner wants it so. (setup.sh has the same.)"""
    owner = checkout.stat().st_uid
    there = any(map(os.environ.get, WORDS)) or any(map(os.path.exists, CONTAINERS))
    if os.geteuid() or not owner or there or not UID_MAP.exists():
        return
    why = (
        f"belongs to user {owner}, and root would leave files there that this user cannot change: "
        f"run it as that user, in a checkout of root's, or with {WORDS[0]}=1 if that does no harm"
    )
    if UID_MAP.read_text().split() == ["0", "0", str(2**32 - 1)]:
        raise PermissionError(errno.EPERM, why, str(checkout))


def make_known() -> None:
    """To all that this process starts, and to ReFrame, which ends with a TypeError where it finds
    no name. Without a home Open MPI 4 ends with a segmentation fault."""
    os.environ["LOGNAME"] = os.environ.get("LOGNAME") or name()
    if "HOME" not in os.environ:
        try:
            os.environ["HOME"] = str(Path.home())
        except RuntimeError:
            os.environ["HOME"] = tempfile.gettempdir()
