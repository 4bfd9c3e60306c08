# SPDX-License-Identifier: BSD-3-Clause
"""Builds the kernels with one of the local stacks, as a developer or a test wants them.

The stack's compiler and libraries are those of its environ in site_configs/local.py, or, as of
trixie-openmpi, of another release of Debian (environments/debian/release.sh). The folder is
kept: another call with the same arguments compiles what changed, other arguments begin anew. Who
finds another at work in it waits.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from iogauge.common.paths import KERNELS, ROOT, builds

# Warnings are errors: the build of the tests.
STRICT = "-DIOKERNEL_WERROR=ON"
RELEASE = ("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF")
# In the build of this stack the tests leave what they entered (tools/coverage.py).
COVERED, COUNTS = "openmpi", "-DIOKERNEL_COVERAGE=ON"


class UnknownStackError(Exception):
    """A stack that site_configs/local.py does not have."""


class CannotBuild(Exception):
    """The text says why."""


def environ(stack: str) -> dict[str, Any]:
    """The stack's environ in site_configs/local.py, or of a release of Debian."""
    from reframe.core.exceptions import ConfigError  # here: an installed package has none of these

    from site_configs import local
    from site_configs.support import debian

    known: list[dict[str, Any]] = list(local.site_configuration["environments"])
    for entry in known:
        if entry["name"] == stack:
            return entry
    if "-" in stack:
        with suppress(ConfigError):
            return debian.stack(stack)
    names = ", ".join(entry["name"] for entry in known)
    raise UnknownStackError(
        f"stack {stack!r} is unknown; right is one of {names}, or such as trixie-openmpi"
    )


def launch_words(stack: str) -> list[str]:
    """What starts its programs, up to `-n N`, without the options that only root needs."""
    launcher = environ(stack)["extras"]["launcher"]
    options = [word for option in launcher["options"] for word in option.split()]
    return [launcher["command"], *(word for word in options if word != "--allow-run-as-root")]


def variables() -> dict[str, str]:
    """Open MPI: who waits lets others go on, a failed job ends without 2 seconds' grace, and what
    it would choose on one node it is told: choosing costs 0.2 s a start."""
    values = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1"}
    values["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    values["GCOV_ERROR_FILE"] = os.devnull  # another user's run cannot leave what it entered
    if os.geteuid() == 0:
        values |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return values


def run_environment() -> dict[str, str]:
    return {**os.environ, **variables()}


def generator() -> str:
    """Ninja where it is there; make does as well, only slower."""
    return "Ninja" if shutil.which("ninja") else "Unix Makefiles"


def build(
    stack: str | Mapping[str, Any],
    folder: Path,
    *more: str,
    target: str = "all",
    source: Path = KERNELS,
    without: Container[str] = (),
) -> Path:
    """Configures and builds; `iokernel` there. `stack`: its name or its environ; `without`: the
    libraries that are left out. Raises CannotBuild."""
    extras = (environ(stack) if isinstance(stack, str) else stack)["extras"]
    words = ["-S", str(source), "-B", str(folder), "-G", generator()]
    for library, arguments in extras["cmake"].items():
        words += [] if library in without else arguments
    words += more
    inside = extras.get("inside", [])
    stamp = folder / "configured-with"
    asked = "\n".join(words)
    with _alone_in(folder):
        if not stamp.is_file() or stamp.read_text() != asked:
            shutil.rmtree(folder, ignore_errors=True)  # CMake keeps what it found once
            folder.mkdir(parents=True)
            _run(*inside, "cmake", *words)
            stamp.write_text(asked)
        how = ["--target", target, "--parallel", str(os.cpu_count())]
        _run(*inside, "cmake", "--build", str(folder), *how)
    return folder / "iokernel"


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """The lock of a job script that builds there, too (reframe_tests/framework/build.py)."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_folder(stack: str) -> Path:
    """Where `make test-kernels` builds, and all tests find the program built."""
    return ROOT / ".local" / "build" / f"test-{stack}"


def build_for_tests(stack: str) -> Path:
    """As `make test-kernels` does; the folder."""
    build(stack, test_folder(stack), STRICT, *([COUNTS] if stack == COVERED else []))
    return test_folder(stack)


def build_for_runs(stack: str | Mapping[str, Any]) -> Path:
    """As measurements want it; the program."""
    name = stack if isinstance(stack, str) else stack["name"]
    return build(stack, builds() / f"measure-{name}", *RELEASE)


def missing(stack: str) -> str | None:
    """Why this machine cannot build a stack, or None."""
    for tool in (environ(stack)["cc"], launch_words(stack)[0], "cmake"):
        if not shutil.which(tool):
            return f"stack {stack}: {tool} is not installed"
    return None


def _run(*words: str) -> None:
    """Quietly; what was said is shown when it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotBuild(f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        raise CannotBuild(f"{' '.join(words)}: failed\n{done.stdout}{done.stderr}")
