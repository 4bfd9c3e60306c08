# SPDX-License-Identifier: BSD-3-Clause
"""What `iogauge site new` asks of this machine (tests substitute another)."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.common.text import one_line

PATIENCE = 20.0  # seconds to wait for a batch system's answer


@dataclass(frozen=True)
class Answer:
    """The output of a command, and why it failed: empty if its exit status was 0."""

    text: str = ""
    trouble: str = ""


class Machine:
    def which(self, command: str) -> str | None:
        return shutil.which(command)

    def ask(self, *words: str) -> Answer:
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
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return Answer(trouble=one_line("".join(last)) or f"exit status {done.returncode}")
        return Answer(done.stdout)

    def variable(self, name: str) -> str:
        return os.environ.get(name, "")

    def mounts(self) -> str:
        return Path("/proc/mounts").read_text()

    def is_file(self, path: str) -> bool:
        return Path(path).is_file()


# A modules system's own variable -> the files that define `module` for bash.
# A file of the machine's profile is better: it also sets the path of the modules.
PROFILES = tuple(f"/etc/profile.d/{name}.sh" for name in ("lmod", "z00_lmod", "modules"))
STARTS = (("Lmod", "LMOD_PKG"), ("Environment Modules", "MODULESHOME"))
# Names of modules that belong to an I/O stack.
OF_STACKS = re.compile(
    r"mpi|hdf5|netcdf|cgns|cmake|ninja|^(gcc|intel|cray|aocc|nvhpc|PrgEnv)", re.IGNORECASE
)
MOST = 12  # names in a comment


@dataclass(frozen=True)
class Modules:
    """`init`: defines `module`. `loaded`: in order. `offered`: for a stack. `spack`: its path."""

    system: str = ""
    init: str = ""
    loaded: list[str] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    spack: str = ""

    @property
    def remarks(self) -> list[str]:
        lines = []
        if self.init:
            lines.append(f"{self.system} is here: modules= are loaded in each job script.")
        if self.offered:
            names = ", ".join(self.offered[:MOST])
            more = len(self.offered) - MOST
            lines.append(f"It has: {names}" + (f" and {more} more" if more > 0 else ""))
        if self.spack:
            lines.append(
                f"Spack is here ({self.spack}): common.spack_stack(VARIANT, [...]) is an environ "
                "whose libraries are a Spack environment (docs/spack.md)."
            )
        return lines


def find_modules(machine: Machine) -> Modules:
    spack = machine.which("spack") or machine.variable("SPACK_ROOT")
    for system, variable in STARTS:
        init = f"{machine.variable(variable)}/init/bash"
        if machine.variable(variable) and machine.is_file(init):
            loaded = [name for name in machine.variable("LOADEDMODULES").split(":") if name]
            init = next((path for path in PROFILES if machine.is_file(path)), init)
            return Modules(system, init, loaded, offered(machine, init), spack)
    return Modules(spack=spack)


def offered(machine: Machine, init: str) -> list[str]:
    """Modules from `module -t avail`: a name per line, on stderr; folders end with a colon or
    slash."""
    code = '. "$1" >/dev/null 2>&1; module -t avail 2>&1'
    text = machine.ask("bash", "--norc", "-c", code, "bash", init).text
    names = [re.sub(r"\((default|[DL,]+)\)$", "", line.strip()) for line in text.splitlines()]
    return [name for name in names if OF_STACKS.search(name) and not name.endswith((":", "/"))]
