# SPDX-License-Identifier: BSD-3-Clause
"""Puts the C library that reads and writes Darshan's logs into the wheel. It is in the wheel of
`darshan`, whose dependencies (pandas, matplotlib, scipy) would double what `pip install` brings."""

from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "iogauge/analysis/darshan"


class DarshanLibrary(BuildHookInterface):  # type: ignore[type-arg]
    """Without `darshan`, which has no wheel for a Python after 3.12, iogauge's wheel is for every
    platform, and names what to install when it first reads a log."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            darshan = distribution("darshan")
        except PackageNotFoundError:
            return
        (library,) = (file for file in darshan.files or () if "libdarshan-util" in file.name)
        build_data["force_include"][str(library.locate())] = f"{PLACE}/{library.name}"
        tags = (darshan.read_text("WHEEL") or "").split("Tag: ")[1:]
        platforms = sorted({tag.split()[0].split("-")[2] for tag in tags})
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{'.'.join(platforms)}"
