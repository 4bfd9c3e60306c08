# SPDX-License-Identifier: BSD-3-Clause
"""The stacks' iokernel programs, built when needed, and runs of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from site_configs import local
from tools import kernels

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60  # for one run; a hang is a failure, not a wait

# What each method can do; test_kernel_build.py holds it against `iokernel --list`.
MODES: dict[str, tuple[str | None, ...]] = {
    "null": (None,),
    "posix": (None,),
    "posix-shared": (None,),
    "master": (None,),
    "mpiio": ("collective", "independent", "nonblocking", "ordered"),
    "hdf5": ("collective", "collective-metadata", "independent"),
    "pnetcdf": ("collective", "independent", "nonblocking"),
    "ioserver": (None,),
}
# Only for patterns that are meshes: test_kernel_cgns.py.
MESH_MODES: dict[str, tuple[str | None, ...]] = {
    "cgns": ("collective", "collective-metadata", "independent", "serial")
}
# What Debian's libraries are too old for, and what they lack.
LACKING_MODES = {"cgns": {"multi": "CGNS 4.4"}}
SERVED = ("ioserver",)  # need processes of their own: test_kernel_ioserver.py


@dataclass(frozen=True)
class How:
    """A method and its mode."""

    method: str
    mode: str | None

    def __str__(self) -> str:
        return f"{self.method}-{self.mode}" if self.mode else self.method

    def options(self) -> list[str]:
        return ["--method", self.method, *(["--mode", self.mode] if self.mode else [])]


HOWS = [How(method, mode) for method in MODES if method not in SERVED for mode in MODES[method]]
# Data moves in mode collective-metadata as in collective: test_kernel_coll_metadata.py.
MOVING = [how for how in HOWS if how.method != "null" and how.mode != "collective-metadata"]


@cache
def _schema() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    return jsonschema.Draft202012Validator(schema)


@dataclass
class Run:
    """What came of one run."""

    command: list[str]
    status: int
    stdout: str
    stderr: str
    seconds: float
    document: dict[str, Any] | None

    def __str__(self) -> str:
        return f"{' '.join(self.command)}\nexit {self.status}\n{self.stderr}\n{self.stdout}"

    def result(self) -> dict[str, Any]:
        assert self.document is not None, f"no result document: {self}"
        return self.document

    def good(self) -> dict[str, Any]:
        """The document of a run that must have gone well."""
        assert self.status == 0, str(self)
        assert "iokernel: error" not in self.stderr, str(self)
        assert self.result()["status"] == "ok", str(self)
        return self.result()

    def errors(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if line.startswith("iokernel: error: ")]

    def error(self, status: int) -> str:
        """The one line of a run that must have failed."""
        assert len(self.errors()) == 1, f"right is one error line: {self}"
        assert self.status == status, f"right is exit status {status}: {self}"
        assert self.seconds < 15, f"{self.seconds:.1f} s: {self}"
        return self.errors()[0]


@dataclass
class Stack:
    name: str
    launch: list[str]
    mpi: str  # its C library's name, as ldd shows it
    build: Path = field(default_factory=Path)

    @property
    def iokernel(self) -> Path:
        return self.build / "iokernel"

    def environment(self) -> dict[str, str]:
        """Open MPI: who waits lets others go on, a failed job ends without 2 seconds' grace, and
        what it would choose on one node it is told: choosing costs 0.2 s a start."""
        values = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1"}
        values["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        if os.geteuid() == 0:
            values |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return values

    def alone(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Without a launcher: --list, --plan."""
        return subprocess.run(
            [str(self.iokernel), *words], capture_output=True, text=True, timeout=SECONDS
        )

    def run(
        self,
        *words: str,
        processes: int = 2,
        program: Path | None = None,
        document: Path | None = None,
        before: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Run:
        """Runs it; the result document, where one is asked for, is held against its schema.
        `before`: what starts the launcher."""
        command = [*before, *self.launch, "-n", str(processes), str(program or self.iokernel)]
        command += [*words, *(["--json", str(document)] if document else [])]
        began = time.monotonic()
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**self.environment(), **(environment or {})},
        )
        seconds = time.monotonic() - began
        found = None
        if document and document.exists():
            found = json.loads(document.read_text())
            _schema().validate(found)
        return Run(command, done.returncode, done.stdout, done.stderr, seconds, found)


def check_usage(stack: Stack, words: list[str], holds: list[str], folder: Path) -> None:
    """A wrong command line: one message that holds these words, and no file."""
    line = stack.run(*words, "--dir", str(folder)).error(2)
    for word in holds:
        assert word in line
    assert list(folder.iterdir()) == []


def stacks() -> dict[str, Stack]:
    """The environs of site_configs/local.py, without the options that only root needs."""
    found = {}
    for environ in local.site_configuration["environments"]:
        extras = environ["extras"]
        launcher = extras["launcher"]
        options = [word for option in launcher["options"] for word in option.split()]
        launch = [launcher["command"], *(o for o in options if o != "--allow-run-as-root")]
        found[environ["name"]] = Stack(environ["name"], launch, extras["mpi_library"])
    return found


def missing(stack: Stack) -> str | None:
    """Why this machine cannot build a stack, or None."""
    for tool in (f"mpicc.{stack.name}", stack.launch[0], "cmake"):
        if not shutil.which(tool):
            return f"stack {stack.name}: {tool} is not installed"
    return None


def build(stack: Stack, folder: Path, *more: str) -> Stack:
    """Builds what changed; the same folders and arguments as `make test-kernels`."""
    kernels.build(stack.name, folder, "-DIOKERNEL_WERROR=ON", *more)
    stack.build = folder
    return stack
