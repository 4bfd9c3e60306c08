# SPDX-License-Identifier: BSD-3-Clause
"""Builds `iokernel` once per stack and job environment; none may mix stacks."""

import functools
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from iogauge.common import json_file
from iogauge.common.paths import KERNELS, MPICH_ABI, builds
from iogauge.common.tables import libraries
from reframe_tests.framework.tidy import InCi
from reframe_tests.jobs import collected
from reframe_tests.machine import spack, stacks

_listing = functools.cache(json_file.read)  # each case asks
# Ninja if modules or machine have it, else make: only the script knows.
GENERATOR = ("generator='Unix Makefiles'", "! command -v ninja > /dev/null || generator=Ninja")


def mpi_problem(ldd: str, right: str, file: Path | None = None) -> str | None:
    """What is wrong with a program's MPI, or None. `ldd`: that command's output; `right`: the
    stack's library (`libmpi.so.40`), and `file`, if the name is ambiguous (each Spack environment
    has its own `libmpi.so.12`). A library in MPICH_ABI is not an MPI; it loads one by another
    name."""
    name = rf"{re.escape(right)}(?= )|lib{spack.MPI}\.so[.\d]*"
    found = re.findall(rf"^\s*({name})(?: => (\S+))?", ldd, re.MULTILINE)
    loaded = {name: place for name, place in found if Path(place).parent != MPICH_ABI}
    if list(loaded) == [right]:
        where = Path(loaded[right])
        if file is None or where.resolve() == file.resolve():
            return None
        return f"it loads {where}; the stack's MPI is {file}"
    what = ", ".join(sorted(loaded)) or "no MPI library"
    return f"it is linked to {what}; the stack's MPI is {right} alone"


def missing_methods(listing: dict[str, Any], promised: list[str]) -> list[str]:
    """Promised methods that a build lacks by its `--list --json -`, each with its reason."""
    found = {entry["name"]: entry for entry in listing["methods"]}
    lacking = []
    for name in promised:
        entry = found.get(name, {"available": False, "reason": "unknown to this iokernel"})
        if not entry["available"]:
            lacking.append(f"{name} ({entry.get('reason') or 'no reason given'})")
    return lacking


def missing_modes(listing: dict[str, Any], promised: list[str]) -> list[str]:
    """The same of modes, as METHOD-MODE."""
    return [
        f"{entry['name']}:{mode} (built without {reason})"
        for entry in listing["methods"]
        for mode, reason in entry.get("lacking_modes", {}).items()
        if f"{entry['name']}-{mode}" in promised
    ]


def keep_packages(test: Any) -> None:
    """The stack's versions; for Spack, the lock file that reproduces them."""
    test.spack_packages = stacks.packages(test.current_environ)
    environment = stacks.spack_environment(test.current_environ)
    if isinstance(environment, spack.Environment):
        shutil.copy(environment.lock, test.stagedir)
        test.keep_files += [environment.lock.name]


def _jobs(partition: Any, environ: str) -> list[Any]:
    """The environment that jobs of a partition have with a stack."""
    own, stack = partition.local_env, partition.environment(environ)
    loads = [partition.prepare_cmds, list(own.modules), dict(own.env_vars)]
    return [*loads, vars(stack) if stack else None]


class BuildKernels(InCi, rfm.CompileOnlyRegressionTest):
    """The kernels, built from the checkout with the stack's compiler, in a folder that is kept: a
    second session compiles only what changed; other arguments of CMake start over. `kernel_path`
    names a program to use instead; so does `iokernel` in the environ's extras."""

    descr = "iokernel with one stack"
    kernel_path = variable(str, value="", loggable=True)
    missing = variable(str, value="", loggable=True)
    # Version of each package, for a Spack environment or a Debian release.
    spack_packages = variable(typ.Dict[str, str], value={}, loggable=True)
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    build_system = "CustomBuild"
    build_time_limit = "10m"
    maintainers: typ.List[str] = []

    @run_after("init")
    def set_build_locally(self) -> None:
        """Build in a job if there is no batch system: never beside a measurement."""
        mine = [p for p in self.current_system.partitions if p.fullname in self.valid_systems]
        self.build_locally = not all(p.scheduler.is_local for p in mine)

    @run_after("setup")
    def activate_spack(self) -> None:
        """Before the script is written, whose first lines source what is made here."""
        if variant := self.current_environ.extras.get("spack_env"):
            spack.write_activation(variant)
        keep_packages(self)

    @run_after("setup")
    def check_requirements(self) -> None:
        """Without a compiler, build nothing and pass, so that each test can say why
        it is skipped: ReFrame skips the tests of a skipped fixture without a reason."""
        if collected.folder():
            self.missing = "results were carried here"
            return
        self.missing = stacks.missing(self.current_environ, self.needs) or ""
        if self.missing:
            self.logger.warning(f"{self.missing}: nothing is built, its tests are skipped")

    @property
    def needs(self) -> list[str]:
        return ["mpi"] if self.given else ["mpi", "build"]

    @property
    def program(self) -> Path:
        """The `iokernel` to run; exists once the fixture has run."""
        return Path(self.given).absolute() if self.given else self.build_folder / "iokernel"

    @property
    def given(self) -> str | None:
        """A dry run's `iokernel` without a path gives way to one with a path, as in a container."""
        own = stacks.program_given(self.current_environ)
        is_own = not self.kernel_path or (self.kernel_path == "iokernel" and "/" in (own or ""))
        return own if is_own else self.kernel_path

    @property
    def build_folder(self) -> Path:
        """One for all partitions with the same environment, named by the first of them."""
        name, mine = self.current_environ.name, self.current_partition
        alike = (p for p in self.current_system.partitions if _jobs(p, name) == _jobs(mine, name))
        return builds() / f"{next(alike).fullname.replace(':', '-')}-{name}"

    def lacks(self, method: str, mode: str) -> str:
        """What the program lacks for the mode, if it can be asked."""
        listing = Path(self.stagedir) / "list.json"
        found = _listing(listing) if listing.is_file() else {"methods": []}
        return ", ".join(missing_modes(found, [f"{method}-{mode}"]))

    @run_before("compile")
    def write_build_script(self) -> None:
        program = shlex.quote(str(self.program))
        build: Any = self.build_system
        build.commands = [] if self.given else self.cmake_commands()
        if not self.is_cross:
            here = self.inside
            build.commands += [
                f"{here}ldd {program} > ldd.txt",
                f"{here}{program} --list --json - > list.json",
            ]
        if self.missing:
            build.commands = []

    @property
    def inside(self) -> str:
        """Before each command that must run where the stack's programs are."""
        return "".join(f"{shlex.quote(word)} " for word in stacks.inside(self.current_environ))

    @property
    def is_cross(self) -> bool:
        """Built for compute nodes: neither run nor inspected here."""
        return bool(self.current_environ.extras.get("cross"))

    def stack_arguments(self) -> list[str]:
        """Compiler and libraries; those that the stack lacks are off: another's cannot slip in."""
        arguments = stacks.extras(self.current_environ).get("cmake", {})
        has = stacks.promised(self.current_environ)
        result = list(arguments.get("mpi", []))
        for library in libraries():
            off = [f"-D{library.option}=OFF"]
            result += arguments.get(library.name, []) if library.name in has else off
        return result

    def cmake_commands(self) -> list[str]:
        folder = shlex.quote(str(self.build_folder))
        arguments = [
            f"-S {shlex.quote(str(KERNELS))}",
            '-G "$generator"',
            "-DCMAKE_BUILD_TYPE=Release",
            "-DBUILD_TESTING=OFF",
            # Nothing is preloaded into static programs.
            *(["-DIOKERNEL_RECORDER=OFF"] if self.is_cross else []),
            *map(shlex.quote, self.stack_arguments()),
        ]
        configure = " ".join([f"{self.inside}cmake", f"-B {folder}", *arguments])
        stamp = f"{folder}/iogauge-configure"
        return [
            f"mkdir -p {folder}",
            f"exec 9>> {folder}.lock",
            "! command -v flock > /dev/null || flock -n 9 ||"  # AIX has none
            f' {{ echo "waiting for $(cat {folder}.lock)" >&2;'
            ' flock -w "${IOGAUGE_LOCK_SECONDS:-86400}" 9; } ||'
            ' { echo "error: no lock within IOGAUGE_LOCK_SECONDS" >&2; exit 1; }',
            f'echo "a build, process $$ on $(hostname), since $(date)" > {folder}.lock',
            *GENERATOR,
            f"printf '%s\\n' {shlex.quote(configure)} \"$generator\" > configure.txt",
            # CMake caches what it found: other arguments need a fresh folder.
            f"cmp -s configure.txt {stamp} || {{ rm -rf {folder}; mkdir -p {folder}; }}",
            configure,
            f"cp configure.txt {stamp}",
            f"{self.inside}cmake --build {folder} --parallel {os.cpu_count() or 1}",
            "exec 9>&-",
        ]

    def how_to_build_again(self) -> str:
        """After a program was found to be linked wrongly."""
        environment = stacks.spack_environment(self.current_environ)
        if not self.given:
            return f"run: rm -rf {self.build_folder}, and again"
        if isinstance(environment, spack.Environment):
            installed = environment.prefix("iokernel")
            if installed and self.program.is_relative_to(installed):
                return f"run: {spack.command(environment.folder)} install --overwrite iokernel"
        return "build it with the stack's own compiler"

    @sanity_function
    def one_mpi_and_all_libraries(self) -> bool:
        if self.is_cross and not self.missing and not self.program.exists():
            raise SanityError(f"{self.program} was not built")
        if self.missing or self.is_cross:
            return True
        stage = Path(self.stagedir)
        environ = self.current_environ
        environment = stacks.spack_environment(environ)
        own = environment.mpi_library if isinstance(environment, spack.Environment) else None
        right = stacks.extras(environ)["mpi_library"]
        problem = mpi_problem((stage / "ldd.txt").read_text(), right, own)
        if problem:
            raise SanityError(f"{self.program}: {problem}; {self.how_to_build_again()}")
        listing = json_file.read(stage / "list.json")
        lacking = missing_methods(listing, stacks.promised(environ))
        lacking += missing_modes(listing, stacks.promised(environ, modes=True))
        if lacking:
            what = ", ".join(lacking)
            raise SanityError(f"{self.program} lacks what {environ.name} promises: {what}")
        return True
