# SPDX-License-Identifier: BSD-3-Clause
"""Where things are, relative to this file: no test depends on the folder it is started in."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "kernels"
TEMPLATES = ROOT / "templates"
BUILDS = ROOT / ".local" / "build"
# IOGAUGE_ENVIRONMENTS: Spack environments that a site keeps elsewhere.
ENVIRONMENTS = Path(os.environ.get("IOGAUGE_ENVIRONMENTS") or ROOT / "environments").absolute()
SPACK_STATE = ROOT / ".local" / "spack"
