# SPDX-License-Identifier: BSD-3-Clause
"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def write_whole(path: Path, data: bytes | str, modified: float | None = None) -> None:
    """Write `path` so that nobody ever sees half of it, with the folders that it needs;
    `modified`: its time, in seconds since 1970, where that is not now.

    Raises OSError, and leaves what stood there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hidden and with an end of its own: who lists the folder by suffix does not find it.
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_bytes(data.encode() if isinstance(data, str) else data)
        if modified is not None:
            os.utime(part, (modified, modified))
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
