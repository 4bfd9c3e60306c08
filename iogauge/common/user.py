# SPDX-License-Identifier: BSD-3-Clause
"""Who runs this, also one whom the machine does not know, as a container may not
(`docker run --user`)."""

import errno
import getpass
import os
import tempfile
from pathlib import Path

AS_ROOT = "IOGAUGE_AS_ROOT"
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
    words = (AS_ROOT, "container", "KUBERNETES_SERVICE_HOST")
    if os.geteuid() or not owner or any(map(os.environ.get, words)) or _contained():
        return
    why = (
        f"belongs to user {owner}, and root would leave files there that this user cannot change: "
        f"run it as that user, in a checkout of root's, or with {AS_ROOT}=1 if that does no harm"
    )
    raise PermissionError(errno.EPERM, why, str(checkout))


def _contained() -> bool:
    try:
        numbers = UID_MAP.read_text().split()
    except OSError:
        return True  # not Linux
    return numbers != ["0", "0", str(2**32 - 1)] or any(map(os.path.exists, CONTAINERS))


def make_known() -> None:
    """To all that this process starts, and to ReFrame, which ends with a TypeError where it finds
    no name. Without a home Open MPI 4 ends with a segmentation fault."""
    os.environ["LOGNAME"] = os.environ.get("LOGNAME") or name()
    if "HOME" not in os.environ:
        try:
            os.environ["HOME"] = str(Path.home())
        except RuntimeError:
            os.environ["HOME"] = tempfile.gettempdir()
