# SPDX-License-Identifier: BSD-3-Clause
"""This machine with the file systems that `make test-fs` has mounted: tools/mounted_fs runs it.

IOGAUGE_TESTFS names a JSON file, {"filesystems": {NAME: ENTRY}}, each ENTRY as
`common.file_system()` makes it, with `path` and `mounted_as` at least. Without it there are none.
IOGAUGE_TESTFS_BUILDS names a folder with `STACK/iokernel` of each stack: then nothing is built.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from iogauge.common import json_file
from site_configs import local
from site_configs.support import common

VARIABLE = "IOGAUGE_TESTFS"
BUILDS = "IOGAUGE_TESTFS_BUILDS"
MUST_HAVE = ("path", "mounted_as")


def mounted(path: str | None) -> dict[str, dict[str, Any]]:
    """The entries in a file; `ValueError` names the file and the wrong key."""
    if not path:
        return {}
    try:
        found = json_file.read(Path(path))
    except json_file.Unreadable as error:
        raise ValueError(f"{VARIABLE}: {path}: {error}") from None
    entries = found.get("filesystems") if isinstance(found, dict) else None
    if not isinstance(entries, dict):
        raise ValueError(f"{VARIABLE}: {path} has no object `filesystems`")
    for name, entry in entries.items():
        lacking = [key for key in MUST_HAVE if not isinstance(entry.get(key), str)]
        if lacking:
            raise ValueError(f"{VARIABLE}: {path}: {name} has no text `{lacking[0]}`")
    return {name: common.file_system(**entry) for name, entry in entries.items()}


def with_program(environ: dict[str, Any], builds: str) -> dict[str, Any]:
    program = Path(builds) / environ["name"] / "iokernel"
    return {**environ, "extras": {**environ["extras"], "iokernel": str(program)}}


SYSTEM = local.site_configuration["systems"][0]
PARTITION = SYSTEM["partitions"][0]
MOUNTED = mounted(os.environ.get(VARIABLE))
EXTRAS = {**PARTITION["extras"], "filesystems": MOUNTED}

ENVIRONMENTS = local.site_configuration["environments"]
if os.environ.get(BUILDS):
    ENVIRONMENTS = [with_program(one, os.environ[BUILDS]) for one in ENVIRONMENTS]

SITE = {
    **local.site_configuration,
    "environments": ENVIRONMENTS,
    "systems": [
        {
            **SYSTEM,
            "name": "testfs",
            "descr": "this machine, with file systems mounted for testing",
            "partitions": [{**PARTITION, "extras": EXTRAS}],
        }
    ],
}

# Without file systems it can be inspected, but not run.
site_configuration = common.checked(SITE) if MOUNTED else SITE
