# SPDX-License-Identifier: BSD-3-Clause
"""The user who runs this, even one whom the machine does not know (`docker run --user`)."""

import getpass
import os
import tempfile
from contextlib import suppress
from pathlib import Path


def name() -> str:
    with suppress(KeyError, OSError):
        return getpass.getuser()
    return str(os.getuid())


def make_known() -> None:
    """Export name and home. Without a name ReFrame fails, without a home Open MPI 4 crashes."""
    os.environ["LOGNAME"] = os.environ.get("LOGNAME") or name()
    if "HOME" not in os.environ:
        try:
            os.environ["HOME"] = str(Path.home())
        except RuntimeError:
            os.environ["HOME"] = tempfile.gettempdir()
