# SPDX-License-Identifier: BSD-3-Clause
"""Builds the kernels with one of the local stacks. The build folder is kept; a build with
other arguments starts over. A second caller waits for the first."""

import os
import shutil
import subprocess
from collections.abc import Container, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, AnalysisError, UsageError
from iogauge.common import lock
from iogauge.common.paths import BUILDS, KERNELS, builds
from iogauge.common.text import first_error, notice

# Warnings are errors: the build of the tests.
STRICT = "-DIOKERNEL_WERROR=ON"
RELEASE = ("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF")
STAMP = "configured-with"  # in a build folder: the arguments of CMake; empty until it has run
# the stack whose build counts lines for `make coverage`
COVERED, COUNTS = "openmpi", "-DIOKERNEL_COVERAGE=ON"


class CannotBuild(AnalysisError):
    """A command failed; its output was printed on stderr."""

    exit_code = EXIT_NOT_VERIFIED


def environ(stack: str) -> dict[str, Any]:
    """The stack's environ, by name. Raises UsageError."""
    from reframe.core.exceptions import ConfigError  # here: an installed package has none of these

    from site_configs.support import chosen

    try:
        return chosen.stack(stack)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def variables() -> dict[str, str]:
    """For Open MPI: waiting processes yield, a failed job ends at once, components are preset."""
    values = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1"}
    values["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    values["GCOV_ERROR_FILE"] = os.devnull  # of another user, who could not write into this one
    if os.geteuid() == 0:
        values |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return values


def lacking(stack: str | Mapping[str, Any]) -> str:
    """What the stack lacks here and cannot be built without; empty: nothing."""
    from reframe_tests.machine import stacks as needs  # here: ReFrame takes 0.16 s, or is not there

    of = environ(stack) if isinstance(stack, str) else stack
    return needs.missing(SimpleNamespace(**{"extras": {}, **of}), ["build", "mpi"]) or ""


def generator() -> str:
    """Ninja if available, else make, which is slower."""
    return "Ninja" if shutil.which("ninja") else "Unix Makefiles"


def build(
    stack: str | Mapping[str, Any],
    folder: Path,
    *more: str,
    target: str = "all",
    source: Path = KERNELS,
    without: Container[str] = (),
) -> Path:
    """Returns `iokernel`. `stack`: name or environ. `without`: libraries. Raises CannotBuild, and
    UsageError where the stack is not installed."""
    if lacks := lacking(stack):
        raise UsageError(lacks)
    extras = (environ(stack) if isinstance(stack, str) else stack)["extras"]
    words = ["-S", str(source), "-B", str(folder), "-G", generator()]
    for library, arguments in extras["cmake"].items():
        words += [] if library in without else arguments
    words += more
    inside = extras.get("inside", [])
    stamp = folder / STAMP
    asked = "\n".join(words)
    own = Path(f"{folder}.lock")  # a building job script holds it, too
    with lock.measuring("a build", [own], always=True):
        before = stamp.read_text() if stamp.is_file() else ""
        if before and str(folder) not in before.split("\n"):  # a copied checkout
            notice(f"{folder} was configured elsewhere: rebuilding it")
        if before != asked:
            notice(f"building iokernel in {folder}")
            _make_empty(folder)  # CMake caches what it found
            call(*inside, "cmake", *words)
            stamp.write_text(asked)
        how = ["--target", target, "--parallel", str(os.cpu_count())]
        call(*inside, "cmake", "--build", str(folder), *how)
    return folder / "iokernel"


def _make_empty(folder: Path) -> None:
    """Remove a build, but no other folder. Raises UsageError for one with other files."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / STAMP).is_file():
        raise UsageError(f"{folder} is not a build folder; name a new folder, or remove it")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / STAMP).touch()


def test_folder(stack: str) -> Path:
    """The folder where `make test-kernels` builds and tests find the program."""
    return BUILDS / f"test-{stack}"


def build_for_tests(stack: str) -> Path:
    counted = stack == COVERED and "IOGAUGE_COVERAGE" in os.environ
    build(stack, test_folder(stack), STRICT, *([COUNTS] if counted else []))
    return test_folder(stack)


def build_for_runs(stack: str | Mapping[str, Any]) -> Path:
    """Build for measurements. Returns the program."""
    name = stack if isinstance(stack, str) else stack["name"]
    return build(stack, builds() / f"measure-{name}", *RELEASE)


def call(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotBuild(f"{words[0]}: {error.strerror}; `iogauge doctor` says more") from None
    if done.returncode:
        notice(output := done.stdout + done.stderr)
        why = first_error(output) or "no error was named"
        raise CannotBuild(f"{' '.join(words)} failed, with the output above: {why}")
