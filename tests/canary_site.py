# SPDX-License-Identifier: BSD-3-Clause
"""A system for each of our schedulers, with words of the shell in every text that a site file may
have them in. IOGAUGE_CANARY: the folder of its file systems."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from reframe_tests.jobs.schedulers import NAMES
from site_configs.support import common, debian

# Ends a word and a quotation of each kind, and would then make a file.
WORDS = "x\"; touch ran; ' ; touch ran & touch ran | touch ran #"
ROOT = os.environ["IOGAUGE_CANARY"]


def partition(scheduler: str) -> dict[str, Any]:
    is_local = scheduler == "local.j2"
    disk = {
        "path": f"{ROOT}/$(touch ran)`touch ran`;touch ran;'\"",
        "type": f"{WORDS} $(touch ran)",
        "note": f"{WORDS} $(touch ran) `touch ran`",
        "create": True,
        "hints": {"canary": f"{WORDS}$(touch ran)`touch ran`"},
        "published_peak": {"value": 1000, "source": f"{WORDS} `touch ran`"},
        **({} if is_local else {"prefix": f"$(touch ran){WORDS}:"}),
    }
    return {
        "name": "batch",
        "scheduler": scheduler,
        "launcher": "stack",
        "environs": ["mpich"],
        "access": [] if is_local else [f"--comment={WORDS} $(touch ran)", "chunk=$(touch ran)"],
        "env_vars": [["CANARY", WORDS], ["OTHER", "${HOME};touch ran"]],
        "processor": {"num_cpus": 2},
        "extras": {"nodes": 2, "job_type": "parallel", "filesystems": {"disk": disk}},
    }


def system(scheduler: str) -> dict[str, Any]:
    name = scheduler.partition(".")[0]
    return {
        "name": name, "hostnames": [".*"], **common.folders(), "partitions": [partition(scheduler)]
    }  # fmt: skip


MPICH = debian.mpich()
MPICH["env_vars"] = [["OF_THE_STACK", WORDS]]

site_configuration = common.checked(
    {
        "systems": [system(name) for name in NAMES],
        "environments": [MPICH],
        "general": common.general(),
        "logging": common.logging(),
    }
)
