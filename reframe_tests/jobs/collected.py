# SPDX-License-Identifier: BSD-3-Clause
"""Where the scripts of `iogauge run --dry-run` and their results were carried to."""

import os
from pathlib import Path

VARIABLE = "IOGAUGE_COLLECTED"

# In a dry run: the absolute path of the scripts' folder on the machine where they will run.
THERE = "IOGAUGE_THERE"

# What `iogauge run --dry-run` leaves for `iogauge collect`: the options of ReFrame.
ASKED = "rendered.json"

SCRIPT = "job.sh"


def folder() -> Path | None:
    """Set for a session that collects, and runs nothing."""
    text = os.environ.get(VARIABLE)
    return Path(text) if text else None


def place(stage: Path) -> Path:
    """A test's place in such a folder, as in ReFrame's stage: partition, environ, test."""
    return Path(*stage.parts[-3:])


def run_folder(stage: str) -> str:
    """Where a test's script will run."""
    there = os.environ.get(THERE)
    return f"{there}/{place(Path(stage))}" if there else stage
