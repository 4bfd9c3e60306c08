# SPDX-License-Identifier: BSD-3-Clause
"""The stacks of this machine, and how to install one."""

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

from iogauge.analysis.errors import AnalysisError, UsageError
from iogauge.common.paths import BUILDS, ROOT, is_checkout
from iogauge.common.text import nearest, unknown
from reframe_tests.machine import stacks as needs
from site_configs.support import debian, wheels

from . import kernels

DEBIAN, WHEELS = ROOT / "environments" / "debian", ROOT / "environments" / "wheels"
ABI_BUILD = BUILDS / "abi"


def libraries(name: str) -> tuple[list[str], list[str]]:
    shown = SimpleNamespace(**{"extras": {}, **kernels.environ(name)})
    asked = [one for one in shown.features if one in shown.extras.get("needs", {}) and one != "mpi"]
    there = [one for one in asked if not needs.missing(shown, [one])]
    return there, [one for one in asked if one not in there]


def known() -> list[str]:
    own = list(debian.MPIS)
    releases = sorted(path.parent.name for path in (debian.LOCAL / "releases").glob("*/stamp"))
    wheels = sorted(path.name for path in (debian.LOCAL / "wheels").glob("*-*") if path.is_dir())
    return [
        *own,
        *(f"{release}-{mpi}" for release in releases for mpi in own),
        *(f"wheel:{name.replace('-', '==', 1)}" for name in wheels),
    ]


def install(names: list[str]) -> None:
    """Install what each stack needs beyond set-up, unless it is there. A release by its own name
    (`trixie`) is installed with both of its MPIs. Raises an AnalysisError."""
    if not is_checkout():
        why = kernels.lacking(names[0]) or "an installed iogauge has no set-up of stacks"
        raise UsageError(f"{why}; expected prefix:FOLDER, such as {wheels.PREFIX}/opt/openmpi")
    releases = [_release(name) for name in names if ":" not in name]
    for name in names:
        kind, colon, what = name.partition(":")
        if not colon:
            continue
        kernels.environ(name)
        if kind == "standard":
            _run(WHEELS / "standard_abi.sh", what)
        if kind in ("wheel", "abi"):
            _run(WHEELS / "wheel.sh", what.replace("==", "-"))
        if kind == "abi":
            _run(DEBIAN / "mpich_abi.sh")
            kernels.build("mpich", ABI_BUILD, "-DBUILD_TESTING=OFF")
    if wanted := list(dict.fromkeys(filter(None, releases))):
        _run(DEBIAN / "setup.sh", "--releases")
        _run(DEBIAN / "release.sh", *wanted)


def _release(name: str) -> str:
    """The release of a stack, or of that name; empty for the machine's. Raises UsageError."""
    if re.fullmatch(r"[a-z]+", name) and name not in debian.MPIS:
        if nearest(name, debian.MPIS):
            raise UsageError(f"stack {unknown(name, debian.MPIS)}")
        return name
    kernels.environ(name)
    return name.rpartition("-")[0]


def _run(script: Path, *words: str) -> None:
    if subprocess.run([script, *words], cwd=ROOT, check=False).returncode:
        command = f"{script.relative_to(ROOT)} {' '.join(words)}"
        raise AnalysisError(f"not installed, for the reason above: {command}")
