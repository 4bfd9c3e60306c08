# SPDX-License-Identifier: BSD-3-Clause
"""Who runs this, also one whom the machine does not know, as a container may not
(`docker run --user`)."""

import getpass
import os
import tempfile
from pathlib import Path


def name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def make_known() -> None:
    """To all that this process starts, and to ReFrame, which ends with a TypeError where it finds
    no name. Without a home Open MPI 4 ends with a segmentation fault."""
    os.environ["LOGNAME"] = os.environ.get("LOGNAME") or name()
    if "HOME" not in os.environ:
        try:
            os.environ["HOME"] = str(Path.home())
        except RuntimeError:
            os.environ["HOME"] = tempfile.gettempdir()
