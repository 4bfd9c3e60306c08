# SPDX-License-Identifier: BSD-3-Clause
"""Site files, by name."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from iogauge.analysis.errors import UsageError
from iogauge.common.paths import ROOT
from iogauge.common.text import unknown

FOLDER = ROOT / "site_configs"
IS_SITE = re.compile(r"^site_configuration\s*[:=]", re.MULTILINE)
LOCAL = "local"


def files() -> list[Path]:
    """Those of site_configs/ and its folders."""
    found = (path for path in FOLDER.rglob("*.py") if IS_SITE.search(path.read_text()))
    return sorted(found, key=lambda path: path.stem)


def load(path: Path) -> dict[str, Any]:
    """Its site_configuration. Raises ReframeError, also where there is none."""
    found = runpy.run_path(str(path)).get("site_configuration")
    if not isinstance(found, dict):
        raise ReframeError("there is no site_configuration in it")
    return found


def runs_here(path: Path) -> bool:
    """Without a batch system, on this machine itself. What cannot be loaded is ReFrame's to say."""
    try:
        systems = load(path)["systems"]
    except Exception:
        return False
    return any(
        str(part["scheduler"]).startswith("local") for one in systems for part in one["partitions"]
    )


def find(name: str) -> Path:
    """The site file that is called so, or the file of that path. Raises UsageError."""
    if name.endswith(".py"):
        path = Path(name).absolute()
        if not path.is_file():
            raise UsageError(f"--site {name}: there is no such file")
        return path
    known = {path.stem: path for path in files()}
    if name not in known:
        raise UsageError(f"site {unknown(name, known)}")
    return known[name]
