# SPDX-License-Identifier: BSD-3-Clause
"""The stacks of a session on this machine, by their names.

IOGAUGE_STACKS has them: openmpi, mpich; SUITE-openmpi, SUITE-mpich, such as trixie-openmpi;
wheel:mpich==5.0.2; and prefix:/opt/openmpi. `make run STACKS="openmpi trixie-openmpi"` sets it.
"""

from __future__ import annotations

from typing import Any

from site_configs import common, debian, prefixes, wheels


def stack(name: str) -> dict[str, Any]:
    """`ConfigError` says which names are right."""
    if name.startswith(prefixes.BEGIN):
        return prefixes.stack(name)
    return wheels.stack(name) if name.startswith(wheels.BEGIN) else debian.stack(name)


def stacks() -> list[dict[str, Any]]:
    """Those of this session, each once."""
    names = common.setting("STACKS", " ".join(debian.MPIS)).split()
    found = [stack(name) for name in names]
    return list({one["name"]: one for one in found}.values())
