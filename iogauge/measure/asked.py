# SPDX-License-Identifier: BSD-3-Clause
"""What a session is asked to run, as options of ReFrame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.paths import ROOT
from iogauge.measure import sites


@dataclass(frozen=True)
class Asked:
    """`system`: SYSTEM or SYSTEM:PARTITION of the site file; `words`: further options of ReFrame,
    which win over ours."""

    site: Path
    system: str
    words: tuple[str, ...]

    @property
    def is_local(self) -> bool:
        """Jobs run on this machine itself, one after the other."""
        return self.site.stem == sites.LOCAL

    def options(self) -> list[str]:
        """All but what ReFrame is to do with the tests."""
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


@dataclass(frozen=True)
class Choice:
    """Which tests. `tests`: patterns of their names; without `tags`, `scales` and `tests` of their
    own words, those of `default`."""

    tests: Sequence[str] = ()
    tags: Sequence[str] = ()
    fs: str = ""
    scale: str = ""
    stacks: Sequence[str] = ()

    def words(self, default: str = "") -> list[str]:
        """As options of ReFrame. A file system and a scale are tags of a test, too."""
        tags = list(self.tags) or ([default] if default and not self.scale else [])
        tags += [f"^({'|'.join(map(re.escape, given.split(',')))})$"
                 for given in (self.fs, self.scale) if given]  # fmt: skip
        found = [word for name in self.tests for word in ("-n", name)]
        found += [word for tag in tags for word in ("-t", tag)]
        return found + (["-p", f"^({'|'.join(self.stacks)})$"] if self.stacks else [])
