# SPDX-License-Identifier: BSD-3-Clause
"""A site file: this machine with the file systems mounted by tests/mounted_fs. IOGAUGE_TESTFS names
a JSON file, {NAME: ENTRY} (`common.file_system()`); IOGAUGE_TESTFS_BUILDS a folder with built
`STACK/iokernel`."""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs import local
from site_configs.support import common

VARIABLE = "IOGAUGE_TESTFS"
BUILDS = "IOGAUGE_TESTFS_BUILDS"


def with_program(environ: dict[str, Any], builds: str) -> dict[str, Any]:
    program = Path(builds) / environ["name"] / "iokernel"
    return {**environ, "extras": {**environ["extras"], "iokernel": str(program)}}


def site(mounted: dict[str, dict[str, Any]], builds: str) -> dict[str, Any]:
    environs = [with_program(one, builds) if builds else one for one in local.ENVIRONS]
    entries = {name: common.file_system(**entry) for name, entry in mounted.items()}
    about = "this machine, with file systems mounted for testing"
    return common.this_machine("testfs", about, environs, entries)


if VARIABLE in os.environ:
    site_configuration = site(
        json.loads(Path(os.environ[VARIABLE]).read_text()), os.environ.get(BUILDS, "")
    )
