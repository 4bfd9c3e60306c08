# SPDX-License-Identifier: BSD-3-Clause
"""The stacks' iokernel programs, built when needed, and runs of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import run_figures

from iogauge.common.paths import KERNELS
from iogauge.measure import kernels
from iogauge.measure.iokernel import Ended, execute
from site_configs import local
from tests.ctest import mpi_end
from tests.launch import launch_words

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600  # for one run, on a machine however loaded; a hang is a failure, not a wait


@dataclass(frozen=True)
class How:
    """A method and its mode."""

    method: str
    mode: str | None

    def __str__(self) -> str:
        return f"{self.method}-{self.mode}" if self.mode else self.method

    def options(self) -> list[str]:
        return ["--method", self.method, *(["--mode", self.mode] if self.mode else [])]


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
        run_figures.check_summary(self.result())
        run_figures.check_table(self.result(), self.stdout, "--phases" in self.command)
        return self.result()

    def errors(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if line.startswith("iokernel: error: ")]

    def error(self, status: int) -> str:
        """The one line of a run that must have failed."""
        assert len(self.errors()) == 1, f"expected one error line: {self}"
        assert self.failed(status), f"expected exit status {status}: {self}"
        return self.errors()[0]

    def failed(self, status: int = 1) -> bool:
        """MPICH's launcher joins the wait statuses of all processes by "or" (get_exit_status in
        hydra's mpiexec.c). So one that it had to kill turns the status of a failed job into 9."""
        killed = self.status == signal.SIGKILL and "BAD TERMINATION" in self.stdout + self.stderr
        return self.status == status or (status == 1 and killed)


@dataclass
class Stack:
    name: str
    launch: list[str]
    mpi: str  # its C library's name, as ldd shows it
    build: Path = field(default_factory=Path)

    @property
    def iokernel(self) -> Path:
        return self.build / "iokernel"

    def variables(self) -> dict[str, str]:
        """With a session folder of the run's own: Open MPI's launcher, and the daemon of a run
        without one, may remove the one that another run has just begun to use."""
        base = "OMPI_MCA_orte_tmpdir_base"
        folder = Path(tempfile.mkdtemp(dir=os.environ.get(base)))
        folder.chmod(0o1777)  # for runs of another user, too
        return {**kernels.variables(), base: str(folder)}

    def environment(self) -> dict[str, str]:
        """For a run without a launcher."""
        return {**os.environ, **self.variables()}

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
        anew: Path | None = None,
    ) -> Run:
        """Runs it; the result document, where one is asked for, is checked against its schema.
        `before`: what starts the launcher. `anew`: a folder that is emptied for a second run."""
        command = [*before, *self.launch, "-n", str(processes), str(program or self.iokernel)]
        command += [*words, *(["--json", str(document)] if document else [])]

        def once() -> Ended:
            variables = {**self.variables(), **(environment or {})}
            return execute(command, variables, seconds=SECONDS, document=document)

        def renew() -> None:
            command.extend(mpi_end.again(command))
            if anew:
                shutil.rmtree(anew)
                anew.mkdir()

        done = mpi_end.twice_at_most(once, lambda one: mpi_end.kernel_blames_mpi(one.stderr), renew)
        assert done.status is not None, f"{done.why}: {command}\n{done.stderr}"
        if done.document is not None:
            _schema().validate(done.document)
        return Run(command, done.status, done.stdout, done.stderr, done.seconds, done.document)


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
        launch = launch_words(environ["name"])
        found[environ["name"]] = Stack(environ["name"], launch, extras["mpi_library"])
    return found


def missing(stack: Stack) -> str | None:
    """Why this machine cannot build a stack, or None."""
    return kernels.lacking(stack.name)


def build(stack: Stack, folder: Path, *more: str, source: Path = KERNELS) -> Stack:
    """Builds what changed. Of a copied checkout, ccache has what the checkout's build compiled."""
    with patch.dict(os.environ, CCACHE_BASEDIR=str(source.parent)):
        kernels.build(stack.name, folder, kernels.STRICT, *more, source=source)
    stack.build = folder
    return stack


def prepared(name: str) -> Stack:
    """A stack's program, built where `make test-kernels` builds it, or in IOGAUGE_BUILD_STACK."""
    chosen = os.environ.get(f"IOGAUGE_BUILD_{name.upper()}")
    if chosen:
        return build(stacks()[name], Path(chosen))
    stack = stacks()[name]
    stack.build = kernels.build_for_tests(name)
    return stack


@cache
def listing() -> dict[str, Any]:
    """What the first stack's program lists, of the stacks that this machine can build."""
    able = [stack.name for stack in stacks().values() if not missing(stack)]
    if not able:
        return {"patterns": [], "methods": [], "modes": [], "cross": []}
    done = prepared(able[0]).alone("--list", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def lacking(program: Path) -> dict[str, str]:
    """The methods that a built program has no library for, each with the reason."""
    words = [str(program), "--list", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=SECONDS)
    listed = json.loads(done.stdout)
    return {m["name"]: m["reason"] for m in listed["methods"] if not m["available"]}


def _with(pattern: str, can: bool) -> dict[str, tuple[str | None, ...]]:
    """The methods that can, or cannot, hold a pattern, and their modes."""
    pairs = {
        pair["method"]: pair["ok"] for pair in listing()["cross"] if pair["pattern"] == pattern
    }
    return {
        m["name"]: tuple(m["modes"]) or (None,)
        for m in listing()["methods"]
        if pairs.get(m["name"]) is can
    }


def _traits(trait: str) -> set[str]:
    return {m["name"] for m in listing()["methods"] if m[trait]}


MODES = _with("s3d", True)
MESH_MODES = _with("s3d", False)  # only for patterns that are meshes: test_kernel_cgns.py
SERVED = {m["name"] for m in listing()["methods"] if "inner" in m["options"]}  # with own processes
MOVES_AS_ANOTHER = {m["name"] for m in listing()["modes"] if m["moves_as"]}
HOWS = [How(method, mode) for method in MODES if method not in SERVED for mode in MODES[method]]
MOVING = [
    how
    for how in HOWS
    if how.method not in _traits("moves_nothing") and how.mode not in MOVES_AS_ANOTHER
]
INNER = sorted({h.method for h in MOVING} & _traits("writes_alone"))
