# SPDX-License-Identifier: BSD-3-Clause
"""A site file: this machine with the file systems that tools/mounted_fs has mounted.

IOGAUGE_TESTFS names a JSON file, {NAME: ENTRY}, each ENTRY the arguments of
`common.file_system()`. IOGAUGE_TESTFS_BUILDS names a folder with `STACK/iokernel` of each stack:
then nothing is built.
"""

from __future__ import annotations

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
    system = local.site_configuration["systems"][0]
    partition = system["partitions"][0]
    entries = {name: common.file_system(**entry) for name, entry in mounted.items()}
    environs = local.site_configuration["environments"]
    made = {
        **system,
        "name": "testfs",
        "descr": "this machine, with file systems mounted for testing",
        "partitions": [{**partition, "extras": {**partition["extras"], "filesystems": entries}}],
    }
    return {
        **local.site_configuration,
        "environments": [with_program(one, builds) for one in environs] if builds else environs,
        "systems": [made],
    }


if VARIABLE in os.environ:
    site_configuration = common.checked(
        site(json.loads(Path(os.environ[VARIABLE]).read_text()), os.environ.get(BUILDS, ""))
    )
