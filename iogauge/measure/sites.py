# SPDX-License-Identifier: BSD-3-Clause
"""Site files, by name, and what a session is asked to run there."""

import re
import runpy
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from iogauge.analysis.errors import UsageError
from iogauge.common.paths import ROOT
from iogauge.common.text import unknown
from site_configs.support import check

FOLDER = ROOT / "site_configs"
IS_SITE = re.compile(r"^site_configuration\s*[:=]", re.MULTILINE)
LOCAL = "local"


def files() -> list[Path]:
    found = (path for path in FOLDER.rglob("*.py") if IS_SITE.search(path.read_text()))
    return sorted(found, key=lambda path: path.stem)


def load(path: Path) -> dict[str, Any]:
    """The file's site_configuration. Raises ReframeError with the line of any mistake."""
    try:
        found = runpy.run_path(str(path)).get("site_configuration")
    except ReframeError:
        raise
    except (Exception, SystemExit) as error:  # the file is a program
        frames = traceback.TracebackException.from_exception(error)
        lines = [frame.lineno for frame in frames.stack if frame.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        line = lines[-1] if lines else "?"
        why = f"line {line}: {type(error).__name__}: {error}"
        raise ReframeError(why) from None
    if not isinstance(found, dict):
        raise ReframeError("no site_configuration; see docs/reference/site-file.md")
    if wrong := "; ".join(check.problems(found)):
        raise ReframeError(wrong)
    return found


def partitions(path: Path) -> list[dict[str, Any]]:
    try:
        return [part for one in load(path)["systems"] for part in one["partitions"]]
    except ReframeError as error:
        raise UsageError(f"{path}: {error}") from None


def runs_here(parts: list[dict[str, Any]]) -> bool:
    """Whether these partitions' jobs run here, without a batch system."""
    return any(str(part["scheduler"]).startswith("local") for part in parts)


def local_file_systems() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = partitions(find(LOCAL))[0]["extras"]["filesystems"]
    return found


def find(name: str) -> Path:
    if name.endswith(".py"):
        path = Path(name).absolute()
        if not path.is_file():
            raise UsageError(f"{name}: expected a site file, found none")
        return path
    known = {path.stem: path for path in files()}
    if name not in known:
        raise UsageError(f"site {unknown(name, known)}")
    return known[name]


@dataclass(frozen=True)
class Asked:
    """`system`: SYSTEM[:PARTITION] of the site file; `words`: ReFrame's, which win over ours."""

    site: Path
    system: str
    words: tuple[str, ...]

    @property
    def is_local(self) -> bool:
        """Jobs run on this machine itself, one after the other."""
        return self.site.stem == LOCAL

    def options(self) -> list[str]:
        """All options except ReFrame's action."""
        found = [] if _has(self.words, "-C", "--config-file") else ["-C", str(self.site)]
        found += [] if _has(self.words, "--system") else ["--system", self.system]
        if not _has(self.words, "-c", "--checkpath"):
            found += ["-c", str(ROOT / "reframe_tests")]
        return [*found, "-R", *self.words]


def _has(words: Sequence[str], *options: str) -> bool:
    names = [word.partition("=")[0] for word in words]
    return any(
        name in options or (not name.startswith("--") and name[:2] in options) for name in names
    )
