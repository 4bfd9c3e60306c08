# SPDX-License-Identifier: BSD-3-Clause
"""A clock that is set back by an hour, for one program."""

from __future__ import annotations

import subprocess
from pathlib import Path


def clock_back(folder: Path) -> Path:
    """The library to preload, made in `folder`."""
    source, library = Path(__file__).with_suffix(".c"), folder / "clock_back.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library
