# SPDX-License-Identifier: BSD-3-Clause
"""The local site whose MPICH starts a single process without its launcher: the shortest job that is
a job, for tools/bench/harness.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from iogauge.common.paths import ROOT
from site_configs import local

for environ in local.site_configuration["environments"]:
    launcher = environ["extras"]["launcher"]
    launcher["options"] = [launcher["command"], *launcher["options"]]
    launcher["command"] = str(ROOT / "tools" / "bench" / "alone.sh")

site_configuration = local.site_configuration
