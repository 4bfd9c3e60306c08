# SPDX-License-Identifier: BSD-3-Clause
"""What `iogauge site new` may ask of this machine; a test puts another in its place."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.text import one_line

PATIENCE = 20.0  # seconds; a batch system that has not answered by then does not answer


@dataclass(frozen=True)
class Answer:
    """What a command printed, and why it is none: empty where its exit status was 0."""

    text: str = ""
    trouble: str = ""


class Machine:
    """The one that this runs on."""

    def which(self, command: str) -> str | None:
        return shutil.which(command)

    def ask(self, *words: str) -> Answer:
        """A command to its end."""
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(trouble=f"no answer within {PATIENCE:.0f} s")
        except OSError as error:
            return Answer(trouble=str(error.strerror))
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return Answer(trouble=one_line("".join(said)) or f"exit status {done.returncode}")
        return Answer(done.stdout)

    def variable(self, name: str) -> str:
        return os.environ.get(name, "")

    def mounts(self) -> str:
        return Path("/proc/mounts").read_text()

    def is_file(self, path: str) -> bool:
        return Path(path).is_file()
